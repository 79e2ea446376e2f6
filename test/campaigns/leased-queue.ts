import { setTimeout as pause } from 'node:timers/promises';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import { addBridgedCase, addInbox } from '../mail/fixture.ts';
import { checkOutEarlier } from '../support/earlier-checkout.ts';
import { MailServer } from '../support/mail-server.ts';
import { startNode, type TestNode } from '../support/node.ts';
import { createTestDatabase } from '../support/postgres.ts';
import type { Random } from '../support/random.ts';
import { startRedis } from '../support/redis.ts';
import type { Teardown } from '../support/teardown.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

export interface LeasedQueueOptions extends Seeded {
  /** Each of them makes work in every queue, and kills one of the two nodes. */
  readonly rounds: number;
  /** Messages of a round, and as many mails, scheduled messages and, a tenth of it, exports. */
  readonly work: number;
  /** The commit whose code the other node runs. */
  readonly earlier?: string;
}

export interface LeasedQueueFigures extends Found {
  /** Requests and mails that the receivers got. */
  readonly webhooks: number;
  readonly mails: number;
  readonly sent: number;
  readonly exports: number;
  readonly kills: number;
  /** Got more than once: a node died before it could say that it had sent them. */
  readonly repeated: number;
}

/**
 * A node of this version and one of the version before over one Postgres and one Redis, with work
 * in the queues that both have: webhooks, mails, scheduled messages and exports. They are killed in
 * turn. Nothing is sent by both at once, and in the end nothing is left.
 */
export const leasedQueue = campaign({ whole: () => ({ rounds: 6, work: 100 }), run });

/** The last commit before the queues shared one piece. */
const EARLIER = 'a5860f77';
/** One that both nodes know. */
const VERSION = '1.2.harbor';
/** How long a receiver takes: for so long a second request for the same would be seen. */
const ANSWER_MS = 100;
/** The longest lease is a minute, and a mail that fails is tried again a minute later. */
const FINISH_MS = 5 * 60_000;

async function run(t: Teardown, options: LeasedQueueOptions, random: Random): Promise<LeasedQueueFigures> {
  const { rounds, work, earlier: commit = EARLIER } = options;
  const checkout = await checkOutEarlier(t, commit);
  const [redis, { url }, receiver, mailServer] = await Promise.all([
    startRedis(t),
    createTestDatabase(t),
    WebhookReceiver.start(t),
    MailServer.start(t),
  ]);
  const [events, mails] = [new Receipts('event'), new Receipts('mail')];
  receiver.answer = ({ headers }) => events.take(String(headers['webhook-id']), 200);
  mailServer.answerMail = ({ headers }) => mails.take(String(headers['message-id']), undefined);
  const start = async (index: number, dataDir?: string) =>
    (
      await startNode(t, {
        ...{ databaseUrl: url, redisUrl: redis.url },
        env: { PARLEY_FETCH_ALLOW: '127.0.0.1', PARLEY_SMTP_URL: mailServer.url },
        ...(index === 1 && { earlier: checkout }),
        ...(dataDir !== undefined && { dataDir }),
      })
    ).at(VERSION);
  const first = await start(0);
  const nodes = [first, await start(1)];
  const database = await openDatabase({ url, log });
  t.teardown(() => database.close());
  const owner = { database, accountId: first.demo.account_id, actorId: first.demo.users.ada.id };
  const caseId = (await addBridgedCase(owner, (await addInbox(owner)).id)).id;
  const hook = { url: receiver.url, event_types: ['message.created'] };
  const { status } = await first.call('POST', '/v1/webhooks', hook);
  if (status !== 201) throw new Error(`the webhook was answered ${status}`);

  const scheduled: string[] = [];
  for (let round = 0; round < rounds; round++) {
    for (let n = 0; n < work; n++) {
      const node = nodes[n % 2]!;
      await accepted(node.send(first.demo.conversations.group));
      await accepted(node.send(caseId, { audience: 'customer', channel: 'email' }, tokenOf(node)));
      const at = new Date(Date.now() + 500 + random.below(2_000)).toISOString();
      scheduled.push(await accepted(node.send(first.demo.conversations.group, { scheduled_at: at })));
      if (n % 10 !== 0) continue;
      await accepted(node.call('POST', `/v1/messaging/conversations/${caseId}/exports`));
    }
    await pause(random.below(500));
    const index = round % 2;
    await nodes[index]!.kill('SIGKILL');
    nodes[index] = await start(index, nodes[index]!.dataDir);
  }
  const problems = await leftovers(database);
  const { rows } = await database.pool.query<{ id: string; status: string }>(
    'SELECT id, status FROM messages WHERE id = ANY($1)',
    [scheduled],
  );
  const sent = rows.filter((row) => row.status === 'sent');
  if (sent.length !== scheduled.length) problems.push(`${sent.length} of ${scheduled.length} were sent`);
  const { rowCount: exports } = await database.pool.query('SELECT FROM compliance_jobs');
  return {
    ...{
      webhooks: events.count,
      mails: mails.count,
      sent: sent.length,
      exports: exports ?? 0,
      kills: rounds,
    },
    repeated: events.repeated + mails.repeated,
    problems: [...problems, ...events.problems, ...mails.problems],
  };
}

/** What a receiver gets, each for some time. */
class Receipts {
  readonly problems: string[] = [];
  count = 0;
  repeated = 0;
  readonly #what: string;
  readonly #underWay = new Set<string>();
  readonly #known = new Set<string>();

  constructor(what: string) {
    this.#what = what;
  }

  async take<Answer>(id: string, answer: Answer): Promise<Answer> {
    this.count += 1;
    if (this.#underWay.has(id)) this.problems.push(`${this.#what} ${id} was sent by both at once`);
    if (this.#known.has(id)) this.repeated += 1;
    this.#known.add(id);
    this.#underWay.add(id);
    await pause(ANSWER_MS);
    this.#underWay.delete(id);
    return answer;
  }
}

/** What waits in the queues. */
const LEFT = `
  SELECT 'webhook delivery ' || id AS left FROM webhook_deliveries WHERE status <> 'delivered'
  UNION ALL SELECT 'mail ' || id FROM mails WHERE next_try_at IS NOT NULL OR status <> 'sent'
  UNION ALL SELECT 'scheduled message ' || id FROM messages WHERE status = 'scheduled'
  UNION ALL SELECT 'export ' || id FROM compliance_jobs WHERE status <> 'complete'
  UNION ALL SELECT 'outbox row ' || id FROM outbox`;

/** Waits until nothing is left. Returns what is all the same. */
async function leftovers(database: Database): Promise<string[]> {
  const left = async () => (await database.pool.query<{ left: string }>(LEFT)).rows.map((row) => row.left);
  await until(async () => (await left()).length === 0, {
    what: 'the queues to be empty',
    timeoutMs: FINISH_MS,
  }).catch(() => undefined);
  return left();
}

function tokenOf({ demo }: TestNode): string {
  return demo.users.ada.access_token;
}

/** Returns the id of what was made. */
async function accepted(
  asked: Promise<{ readonly status: number; readonly body: Record<string, unknown> }>,
): Promise<string> {
  const { status, body } = await asked;
  if (status >= 300) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  return String(body.id);
}
