import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { checkOutEarlier } from '../support/earlier-checkout.ts';
import { MailServer } from '../support/mail-server.ts';
import { ModelServer } from '../support/model-server.ts';
import { startPostgres } from '../support/postgres.ts';
import { Random } from '../support/random.ts';
import { startRedis } from '../support/redis.ts';
import type { Teardown } from '../support/teardown.ts';
import { TokenIssuer } from '../support/token-issuer.ts';
import { until } from '../support/until.ts';
import { type Side, VersionPair } from '../support/version-pair.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';
import { type JobKind, QueuedJobs } from './queued-jobs.ts';
import { type ScheduledCounts, ScheduledMessages } from './scheduled-messages.ts';

interface QueueVersionsOptions extends Seeded {
  /** Seconds for which both versions run beside each other. */
  readonly seconds: number;
  /** Number of scheduled messages, with other jobs beside them. */
  readonly messages: number;
  /** Milliseconds of a node's life before it is killed. */
  readonly lifeMs: readonly [least: number, most: number];
  /** The commit of the other node's code. */
  readonly earlier?: string;
}

interface QueueVersionsFigures extends Found, ScheduledCounts {
  readonly sent: number;
  /** Milliseconds from the requested time to the entry into the timeline. */
  readonly lateMs: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly kills: Readonly<Record<Side, number>>;
  /** Acknowledged jobs. */
  readonly jobs: Readonly<Record<JobKind, number>>;
  /** Jobs that waited or ran when the node of this version began. */
  readonly underWayAtMigration: number;
  readonly lost: number;
  readonly twice: number;
  /** Requests and mails that the receivers got, and repeated ones. */
  readonly webhooks: number;
  readonly mails: number;
  readonly repeated: number;
}

/**
 * The change of the job queue in a rolling upgrade. A node of the previous version works alone, a
 * node of this version begins and migrates, both take requests and are killed by a clock, and in
 * the end the old node goes for good. Everything acknowledged is done once: scheduled messages,
 * exports, erasures, imports, claims of visitors, removals of files, redactions, and the webhooks
 * and mails beside them.
 *
 * The word is the number of minutes for which both run, 30 without a word.
 */
export const queueVersions = campaign({
  words: ['', '3', '10', '60'],
  whole: (_seed, word) => ({
    seconds: 60 * Number(word || 30),
    messages: word === '3' ? 150 : 500,
    lifeMs: [20_000, 60_000] as const,
  }),
  run,
});

/** The last commit whose jobs are in the schema of graphile-worker. */
const EARLIER = '72edde5f';
/** A stable version that both nodes know. */
const VERSION = '1.3.harbor';
/** Milliseconds until a receiver answers, in which a repeated request would be seen. */
const ANSWER_MS = 100;
/** Leases last for a minute, and a mail that fails is tried again a minute later. */
const FINISH_MS = 5 * 60_000;

async function run(
  t: Teardown,
  options: QueueVersionsOptions,
  random: Random,
): Promise<QueueVersionsFigures> {
  const drill = await Drill.begin(t, options, random);
  await drill.fill();
  const underWayAtMigration = await drill.upgrade();
  await drill.work();
  return { ...(await drill.finish()), underWayAtMigration };
}

interface DrillParts {
  readonly pair: VersionPair;
  readonly random: Random;
  readonly messages: ScheduledMessages;
  readonly jobs: QueuedJobs;
  readonly caseId: string;
  readonly events: Receipts;
  readonly mails: Receipts;
}

class Drill {
  readonly #options: QueueVersionsOptions;
  readonly #parts: DrillParts;
  readonly #problems: string[] = [];
  readonly #acts: Promise<unknown>[] = [];
  readonly #mailIds: string[] = [];

  /** Starts a node of the previous version alone, on a new database with all that work needs. */
  static async begin(t: Teardown, options: QueueVersionsOptions, random: Random): Promise<Drill> {
    const earlier = await checkOutEarlier(t, options.earlier ?? EARLIER);
    const [postgres, redis, receiver, mailServer, models, issuer] = await Promise.all([
      startPostgres(t),
      startRedis(t),
      WebhookReceiver.start(t),
      MailServer.start(t),
      ModelServer.start(t),
      TokenIssuer.start(t),
    ]);
    const [events, mails] = [new Receipts('event'), new Receipts('mail')];
    receiver.answer = ({ headers, event }) =>
      events.take(String(headers['webhook-id']), String(event.data.id), 200);
    mailServer.answerMail = ({ headers }) =>
      mails.take(String(headers['message-id']), String(headers['message-id']), undefined);
    const env = {
      PARLEY_FETCH_ALLOW: '127.0.0.1',
      PARLEY_SMTP_URL: mailServer.url,
      ...models.env(),
    };
    const pair = new VersionPair(t, {
      earlier,
      version: VERSION,
      env,
      databaseUrl: postgres.url,
      redisUrl: redis.url,
      random: new Random(random.below(SEEDS)),
    });
    await pair.start('earlier');
    await pair.made('/v1/webhooks', { url: receiver.url, event_types: ['message.created'] });
    const inbox = { name: 'Support', address: 'support@harbor.example' };
    const inbox_id = await pair.made('/v1/messaging/inboxes', inbox);
    const customer = { type: 'customer', name: 'Cleo', email: 'cleo@customers.example' };
    const bridged = { type: 'group', audience: 'customer', inbox_id, participants: [customer] };
    const caseId = await pair.made('/v1/messaging/conversations', bridged);
    const messages = await ScheduledMessages.open(t, pair, new Random(random.below(SEEDS)));
    const { conversationIds } = messages;
    const jobsRandom = new Random(random.below(SEEDS));
    const jobs = await QueuedJobs.open({ pair, random: jobsRandom, conversationIds, models, issuer });
    return new Drill(options, { pair, random, messages, jobs, caseId, events, mails });
  }

  private constructor(options: QueueVersionsOptions, parts: DrillParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Gives the old node work, which waits when the new node begins. */
  async fill(): Promise<void> {
    const { messages, jobs } = this.#parts;
    for (let n = 0; n < this.#options.messages / 5; n++) this.#begin(messages.schedule(this.#withinMs()));
    for (let round = 0; round < 3; round++) this.#begin(jobs.beginAll());
    await Promise.all(this.#acts);
  }

  /** Returns the number of jobs under way when the new node began. */
  async upgrade(): Promise<number> {
    const { pair, jobs, random } = this.#parts;
    this.#begin(jobs.beginAll());
    // Either the old node goes on meanwhile, or it has died with unfinished jobs.
    const dies = random.below(2) === 0;
    const underWay = await jobs.underWay();
    if (dies) await pair.kill('earlier');
    await pair.start('current');
    if (dies) await pair.start('earlier');
    return underWay.length;
  }

  /** Sends traffic to both nodes, which are killed now and then. */
  async work(): Promise<void> {
    const { messages, jobs, random } = this.#parts;
    const { seconds, messages: count } = this.#options;
    const over = new AbortController();
    const clocks = (['earlier', 'current'] as const).map((side) =>
      this.#kill(side, new Random(random.below(SEEDS)), over.signal),
    );
    const left = Math.ceil((count * 4) / 5);
    for (let n = 0; n < left; n++) {
      this.#begin(messages.schedule(this.#withinMs()));
      if (n % 3 === 0) this.#begin(messages.change());
      if (n % 2 === 0) this.#begin(jobs.beginAny());
      if (n % 5 === 0) this.#begin(this.#mail());
      await pause((seconds * 1_000) / left);
    }
    over.abort();
    await Promise.all(clocks);
    await Promise.all(this.#acts);
  }

  /** Stops the old node for good; the new node alone has to do the rest. */
  async finish(): Promise<Omit<QueueVersionsFigures, 'underWayAtMigration'>> {
    const { pair, messages, jobs, events, mails } = this.#parts;
    await pair.kill('earlier');
    await messages.bringForward();
    const node = pair.pick()!;
    await messages.settle(node, this.#withinMs() + FINISH_MS);
    const { lost, twice, sent, lateMs } = await messages.check(node);
    const ended = await jobs.finish(FINISH_MS);
    await this.#checkMails();
    const { expectedIds } = messages;
    const isHeard = () => expectedIds.every((id) => events.idsOf(id).size > 0);
    await until(isHeard, { what: 'a webhook of each', timeoutMs: FINISH_MS }).catch(() => undefined);
    for (const id of expectedIds) {
      const { size } = events.idsOf(id);
      if (size !== 1) this.#problems.push(`${id} has ${size} events`);
    }
    const at = (part: number) => Math.round(lateMs[Math.ceil(lateMs.length * part) - 1] ?? 0);
    return {
      ...messages.counts,
      sent,
      lateMs: { p50: at(0.5), p99: at(0.99), max: at(1) },
      kills: pair.kills,
      jobs: jobs.counts,
      lost: lost + ended.lost,
      twice: twice + ended.twice,
      webhooks: events.count,
      mails: mails.count,
      repeated: events.repeated + mails.repeated,
      problems: [this.#problems, messages.problems, jobs.problems, events.problems, mails.problems].flat(),
    };
  }

  async #kill(side: Side, random: Random, over: AbortSignal): Promise<void> {
    const { pair } = this.#parts;
    const [least, most] = this.#options.lifeMs;
    while (!over.aborted) {
      await pause(least + random.below(most - least), undefined, { signal: over }).catch(() => undefined);
      if (over.aborted) return;
      await pair.kill(side);
      await pause(random.below(2_000));
      await pair.start(side);
    }
  }

  async #mail(): Promise<void> {
    const { pair, caseId } = this.#parts;
    const client_message_id = randomUUID();
    const fields = { body: 'Your order', client_message_id, audience: 'customer', channel: 'email' };
    this.#mailIds.push(await pair.made(`/v1/messaging/conversations/${caseId}/messages`, fields));
  }

  async #checkMails(): Promise<void> {
    const { pair, mails } = this.#parts;
    for (const id of this.#mailIds) {
      const isSent = async () => {
        const { email_status } = await pair.accepted('GET', `/v1/messaging/messages/${id}`);
        return email_status === 'sent';
      };
      await until(isSent, { what: `the mail of ${id}`, timeoutMs: FINISH_MS }).catch((error: Error) => {
        this.#problems.push(error.message);
      });
    }
    if (mails.known !== this.#mailIds.length) {
      this.#problems.push(`${this.#mailIds.length} mails became ${mails.known}`);
    }
  }

  /** Returns the longest time ahead, except for messages of a day. */
  #withinMs(): number {
    return this.#options.seconds * 1_000;
  }

  /** Begins an act beside the other acts. */
  #begin(act: Promise<unknown>): void {
    this.#acts.push(act.catch((error: Error) => this.#problems.push(error.message)));
  }
}

const SEEDS = 2 ** 31;

/** Things that a receiver gets, each for some time. */
class Receipts {
  readonly problems: string[] = [];
  count = 0;
  repeated = 0;
  readonly #what: string;
  readonly #underWay = new Set<string>();
  readonly #known = new Map<string, string>();

  constructor(what: string) {
    this.#what = what;
  }

  /** Number of different things. */
  get known(): number {
    return this.#known.size;
  }

  /** Returns the ids of things about the same subject. */
  idsOf(about: string): Set<string> {
    return new Set([...this.#known].filter(([, of]) => of === about).map(([id]) => id));
  }

  async take<Answer>(id: string, about: string, answer: Answer): Promise<Answer> {
    this.count += 1;
    if (this.#underWay.has(id)) this.problems.push(`${this.#what} ${id} was sent by both at once`);
    if (this.#known.has(id)) this.repeated += 1;
    this.#known.set(id, about);
    this.#underWay.add(id);
    await pause(ANSWER_MS);
    this.#underWay.delete(id);
    return answer;
  }
}
