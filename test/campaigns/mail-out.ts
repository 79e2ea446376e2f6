import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import { SMTPServer } from 'smtp-server';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import { addBridgedCase, addInbox } from '../mail/fixture.ts';
import { ROOT } from '../start/parley.ts';
import { startNode, type TestNode } from '../support/node.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { Random } from '../support/random.ts';
import { startRedis } from '../support/redis.ts';
import type { Teardown } from '../support/teardown.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface MailOutOptions extends Seeded {
  readonly mails: number;
  readonly cases: number;
  /** Number of concurrent callers. */
  readonly width: number;
  /** Number of kills of a node. */
  readonly kills: number;
  /** Whether a node that was killed starts again. */
  readonly restarts: boolean;
  /** Number of deaths of the SMTP server. */
  readonly outages: number;
  /** Factor by which its other failures are more frequent than usual. */
  readonly trouble: number;
}

interface MailOutFigures extends Found {
  readonly messages: number;
  /** Mails whose customer's address is refused for good. */
  readonly refusedForGood: number;
  readonly kills: number;
  readonly outages: number;
  /** Reactions of the server other than accepting, by kind. */
  readonly faults: Readonly<Record<string, number>>;
  /** Mails accepted again under the same Message-ID. */
  readonly repeated: number;
  readonly mostTries: number;
}

/**
 * Two nodes, whose clock of tries runs a thousand times faster, send mail through an SMTP server
 * that drops connections, defers, refuses, takes mails without saying so, dies and comes back; a
 * node is killed. Each mail arrives at least once, under one Message-ID, and none is lost. Mail
 * that is refused for good has failed, and its author is notified.
 */
export const mailOut = campaign({
  whole: () => ({ mails: 2_000, cases: 200, width: 16, kills: 3, restarts: true, outages: 6, trouble: 1 }),
  run,
});

async function run(t: Teardown, options: MailOutOptions, random: Random): Promise<MailOutFigures> {
  const { seed, mails, cases, width, kills, restarts, outages, trouble } = options;
  const server = await UnreliableServer.start(t, new Random(seed * 10), trouble);
  const [redis, { url }] = await Promise.all([startRedis(t), createTestDatabase(t)]);
  const start = (dataDir?: string) =>
    startNode(t, {
      databaseUrl: url,
      redisUrl: redis.url,
      command: CHILD,
      env: { PARLEY_SMTP_URL: server.url },
      ...(dataDir !== undefined && { dataDir }),
    });
  const nodes = await Promise.all([start(), start()]);
  const database = await openDatabase({ url, log });
  t.teardown(() => database.close());
  const ids = await makeCases(database, nodes[0], cases);

  const sent = new Map<string, boolean>();
  const work = async (caller: number) => {
    for (let turn = caller; sent.size < mails; ) {
      const index = random.below(ids.length);
      const answer = await send(nodes[turn % 2]!, ids[index]!).catch(() => undefined);
      if (answer !== undefined) {
        sent.set(answer, isGone(index));
        continue;
      }
      turn += 1;
      await pause(50);
    }
  };
  const chaos = async () => {
    const events = [...Array(kills).fill('kill'), ...Array(outages).fill('outage')];
    for (const [n, event] of events.entries()) {
      await until(() => sent.size >= (mails * (n + 1)) / (events.length + 1), {
        what: 'the next fault',
        timeoutMs: FINISH_MS,
      });
      if (event === 'outage') {
        await server.die();
        continue;
      }
      const index = random.below(2);
      await nodes[index]!.kill('SIGKILL');
      if (restarts) nodes[index] = await start(nodes[index]!.dataDir);
    }
  };
  await Promise.all([...Array.from({ length: width }, (_, caller) => work(caller)), chaos()]);
  // Messages are sent faster than their mails, and most mails must meet the faults.
  await until(() => server.accepted.length >= mails / 2, {
    what: 'half of the mails to arrive',
    timeoutMs: FINISH_MS,
  });
  server.heal();
  await until(async () => (await database.pool.query(UNFINISHED)).rowCount === 0, {
    what: 'every mail to end',
    timeoutMs: FINISH_MS,
  });

  const problems = await check(database, server, sent);
  const { rows } = await database.pool.query<{ most: number }>('SELECT max(attempts) AS most FROM mails');
  return {
    messages: sent.size,
    refusedForGood: [...sent.values()].filter(Boolean).length,
    kills,
    outages,
    faults: server.faults,
    repeated: server.accepted.length - new Set(server.accepted).size,
    mostTries: rows[0]!.most,
    problems: problems,
  };
}

const OUTAGE_MS = 500;
const FINISH_MS = 10 * 60_000;

const UNFINISHED = `
  SELECT FROM mails WHERE next_try_at IS NOT NULL
  UNION ALL
  SELECT FROM outbox WHERE topic = 'messages.email_due' LIMIT 1`;

const CHILD = [
  process.execPath,
  `--import=${join(ROOT, 'test/support/quick-start.js')}`,
  join(ROOT, 'test/support/mail-node-child.ts'),
] as const;

/** Returns true for every tenth case: its customer's address is refused for good. */
function isGone(index: number): boolean {
  return index % 10 === 9;
}

async function makeCases(database: Database, { demo }: TestNode, count: number): Promise<string[]> {
  const owner = { database, accountId: demo.account_id, actorId: demo.users.ada.id };
  const inbox = await addInbox(owner);
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    const email = `${isGone(n) ? 'gone' : 'customer'}-${n}@customers.example`;
    ids.push((await addBridgedCase(owner, inbox.id, { email })).id);
  }
  return ids;
}

/** Returns the id of the message; rejects if the node does not answer. */
async function send({ baseUrl, demo }: TestNode, caseId: string): Promise<string> {
  const response = await fetch(`${baseUrl}/v1/messaging/conversations/${caseId}/messages`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${demo.users.ada.access_token}`,
      'Service-Version': NEWEST_VERSION,
      'Service-Account': demo.account_id,
      'Content-Type': 'application/json',
    },
    body: JSON.stringify({
      body: 'ahoy',
      audience: 'customer',
      channel: 'email',
      client_message_id: randomUUID(),
    }),
    signal: AbortSignal.timeout(60_000),
  });
  if (response.status !== 201) throw new Error(await response.text());
  return ((await response.json()) as { id: string }).id;
}

interface Ended {
  readonly message_id: string;
  readonly rfc_id: string;
  readonly status: string;
  readonly email_status: string | null;
  readonly notified: boolean;
}

async function check(
  database: Database,
  { accepted, problems: odd }: UnreliableServer,
  sent: ReadonlyMap<string, boolean>,
): Promise<string[]> {
  const problems = [...odd];
  const { rows } = await database.pool.query<Ended>(`
    SELECT l.message_id, l.rfc_id, l.status, m.email_status,
      EXISTS (SELECT FROM notifications n WHERE n.message_id = m.id AND n.category = 'email.failed') AS notified
    FROM mails l JOIN messages m ON m.id = l.message_id`);
  const byMessage = new Map(rows.map((row) => [row.message_id, row]));
  const arrived = new Set(accepted);
  for (const [id, isRefused] of sent) {
    const mail = byMessage.get(id);
    if (mail === undefined) {
      problems.push(`${id} has no mail`);
      continue;
    }
    const { status, email_status, notified, rfc_id } = mail;
    const expected = isRefused ? 'failed' : 'sent';
    if (status !== expected || email_status !== expected)
      problems.push(`${id} is ${status} and ${email_status}, not ${expected}`);
    if (notified !== isRefused) problems.push(`the author of ${id} is ${notified ? '' : 'not '}notified`);
    if (arrived.has(rfc_id) === isRefused) problems.push(`${id} has ${isRefused ? '' : 'not '}arrived`);
  }
  const known = new Set(rows.map(({ rfc_id }) => rfc_id));
  for (const id of arrived) if (!known.has(id)) problems.push(`no mail has the Message-ID ${id}`);
  // A request whose answer was lost may have been committed.
  if (known.size < sent.size) problems.push(`${sent.size} messages have ${known.size} Message-IDs`);
  return problems;
}

class UnreliableServer {
  /** The Message-ID of every accepted mail, in order. */
  readonly accepted: string[] = [];
  readonly faults: Record<string, number> = {};
  readonly problems: string[] = [];
  url = '';
  readonly #random: Random;
  readonly #trouble: number;
  #server = new SMTPServer({ logger: false });
  #isHealed = false;

  static async start(t: Teardown, random: Random, trouble: number): Promise<UnreliableServer> {
    const self = new UnreliableServer(random, trouble);
    await self.#listen(0);
    t.teardown(() => self.#close());
    return self;
  }

  private constructor(random: Random, trouble: number) {
    this.#random = random;
    this.#trouble = trouble;
  }

  /** Accepts everything from now on, except what is refused for good. */
  heal(): void {
    this.#isHealed = true;
  }

  /** Cuts every connection, and listens again after a while. */
  async die(): Promise<void> {
    this.#note('outage');
    const port = Number(new URL(this.url).port);
    await this.#close();
    await pause(OUTAGE_MS);
    await this.#listen(port);
  }

  async #listen(port: number): Promise<void> {
    this.#server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS', 'AUTH'],
      closeTimeout: 10,
      onConnect: (_session, done) => done(this.#chance(0.02, 'refused connection') ? refusal(421) : null),
      onRcptTo: ({ address }, _session, done) => {
        if (address.startsWith('gone-')) done(refusal(550));
        else done(this.#chance(0.08, 'deferred recipient') ? refusal(451) : null);
      },
      onData: (stream, _session, done) => {
        const pieces: Buffer[] = [];
        const isCut = this.#chance(0.04, 'cut within a mail');
        stream.on('data', (piece: Buffer) => {
          pieces.push(piece);
          if (isCut) this.#cut();
        });
        stream.on('error', () => {});
        stream.on('end', () => this.#take(Buffer.concat(pieces).toString(), isCut, done));
      },
    });
    this.#server.on('error', () => {});
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
    this.url = `smtp://127.0.0.1:${(this.#server.server.address() as AddressInfo).port}`;
  }

  #take(raw: string, isCut: boolean, done: (error?: Error | null) => void): void {
    if (isCut) return;
    const [, id] = /^Message-ID:\s*<([^>]+)>/im.exec(raw) ?? [];
    if (this.#chance(0.04, 'deferred mail')) {
      done(refusal(452));
      return;
    }
    if (id === undefined) this.problems.push('a mail without a Message-ID');
    else this.accepted.push(id);
    if (this.#chance(0.02, 'took a mail without saying so')) this.#cut();
    else if (this.#chance(0.05, 'slow answer')) setTimeout(() => done(null), 300);
    else done(null);
  }

  /** Ends the open connections. */
  #cut(): void {
    for (const connection of this.#server.connections) connection.close();
  }

  async #close(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #chance(share: number, fault: string): boolean {
    if (this.#isHealed || this.#random.next() >= share * this.#trouble) return false;
    this.#note(fault);
    return true;
  }

  #note(fault: string): void {
    this.faults[fault] = (this.faults[fault] ?? 0) + 1;
  }
}

function refusal(responseCode: number): Error {
  return Object.assign(new Error('not now, or never'), { responseCode });
}
