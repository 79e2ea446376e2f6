import { setTimeout as pause } from 'node:timers/promises';
import { FaultProxy, type Faults } from './fault-proxy.ts';
import type { Random } from './random.ts';
import type { TestRedis } from './redis.ts';
import type { Pushed } from './resp.ts';
import type { Teardown } from './teardown.ts';

/** Starts a separate link to Redis for each node. */
export async function startLinks(
  t: Teardown,
  { redis, seed, count }: { readonly redis: TestRedis; readonly seed: number; readonly count: number },
): Promise<FaultProxy[]> {
  const links: FaultProxy[] = [];
  for (let index = 0; index < count; index++) {
    const link = await FaultProxy.start({ target: redis, seed: seed + index, faults: { holdMs: IN_ORDER } });
    t.teardown(() => link.close());
    links.push(link);
  }
  return links;
}

/** Delays one frame in ten. A node's own probes are exempt: they test the link as it is. */
export function disorder(links: readonly FaultProxy[]): void {
  for (const { faults } of links) faults.holdMs = OVERTAKEN;
}

const OVERTAKEN: Faults['holdMs'] = ({ channel }, random) =>
  channel.includes(':cnv_') && random.below(10) === 0 ? 1 + random.below(60) : 0;

/**
 * Drops the next message to a node that `matches`. A node's own frames return over its link too,
 * and are ignored there: `matches` must describe a frame that only another node publishes.
 */
export function loseNext(link: FaultProxy, matches: (pushed: Pushed) => boolean): void {
  const { lost } = link.counts;
  link.faults.holdMs = (pushed) =>
    link.counts.lost === lost && matches(pushed) ? Number.POSITIVE_INFINITY : 0;
}

/** Returns whether a message is on a conversation's or an actor's channel. */
function isFrame({ channel }: Pushed): boolean {
  return /:(cnv|act)_/.test(channel);
}

/** Windows of losses, and the events dropped in them. */
export class Losses {
  /** Events by name; events of deletions are counted separately. */
  readonly byEvent: Record<string, number> = {};
  readonly #meanwhile: () => Promise<void>;

  /** `meanwhile`: acts that must happen within each window. */
  constructor(meanwhile: () => Promise<void> = async () => {}) {
    this.#meanwhile = meanwhile;
  }

  /** Drops this share of the frames on these links for at least this long; other frames pass. */
  async during(
    links: readonly FaultProxy[],
    rate: number,
    forMs: number,
    meanwhile = this.#meanwhile,
  ): Promise<void> {
    const before = links.map(({ faults }) => faults.holdMs ?? IN_ORDER);
    for (const [index, { faults }] of links.entries()) {
      faults.holdMs = (pushed, random) => {
        if (!isFrame(pushed) || random.next() >= rate) return before[index]!(pushed, random);
        this.#count(pushed);
        return Number.POSITIVE_INFINITY;
      };
    }
    await Promise.all([pause(forMs), meanwhile()]).finally(() => {
      for (const [index, { faults }] of links.entries()) faults.holdMs = before[index];
    });
  }

  /** Returns the kinds that were never dropped: the run proves nothing about them. */
  problems(): string[] {
    return LOST_KINDS.filter((kind) => this.byEvent[kind] === undefined).map(
      (kind) => `no ${kind} was lost in ${JSON.stringify(this.byEvent)}`,
    );
  }

  #count({ message }: Pushed): void {
    // One message may carry several events.
    for (const part of message.toString('latin1').split('"event":"').slice(1)) {
      const event = part.slice(0, part.indexOf('"'));
      const isDeletion = event === 'message.updated' && part.includes('"deleted_at":"');
      const kind = isDeletion ? DELETION : event;
      this.byEvent[kind] = (this.byEvent[kind] ?? 0) + 1;
    }
  }
}

const DELETION = 'message.updated of a deletion';
const LOST_KINDS = [
  'message.created',
  'message.updated',
  DELETION,
  'notification.created',
  'notification.updated',
  'conversation.updated',
];

/** Not undefined, so that connections are inspected from the start. */
const IN_ORDER: NonNullable<Faults['holdMs']> = () => 0;

/**
 * Faults by name in which single messages are lost on a link that stays open; each is over when it
 * resolves.
 */
export function lossFaults(links: readonly FaultProxy[], random: Random, losses: Losses) {
  return {
    'some frames lost': () =>
      losses.during([random.pick(links)], 0.05 + random.below(16) / 100, 1_000 + random.below(3_000)),
    'all frames lost': () => losses.during([random.pick(links)], 1, 500 + random.below(1_000)),
  };
}

/** Faults of these links by name; each is over when it resolves. */
export function linkFaults(
  links: readonly FaultProxy[],
  random: Random,
  losses = new Losses(),
): Readonly<Record<string, () => Promise<void> | void>> {
  return {
    ...lossFaults(links, random, losses),
    'link cut': () => random.pick(links).cut(),
    'connection cut': () => random.pick(links).cutOne(),
    'both links cut': () => {
      for (const link of links) link.cut();
    },
    'link away': async () => {
      const link = random.pick(links);
      link.refuse();
      await pause(100 + random.below(900));
      link.accept();
    },
    'link hung': async () => {
      const link = random.pick(links);
      link.pause(random.pick([['up'], ['down'], ['up', 'down']] as const));
      await pause(100 + random.below(2_900));
      link.resume();
    },
    'link slow': async () => {
      const link = random.pick(links);
      link.faults.delayMs = 5 + random.below(295);
      await pause(500 + random.below(1_500));
      link.faults.delayMs = 0;
    },
  };
}

/** Lets everything pass again, at once and in order. */
export function heal(links: readonly FaultProxy[]): void {
  for (const link of links) {
    link.faults.delayMs = 0;
    if (link.faults.holdMs !== undefined) link.faults.holdMs = IN_ORDER;
    link.accept();
    link.resume();
  }
}
