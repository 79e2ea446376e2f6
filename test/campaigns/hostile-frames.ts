import { readFileSync } from 'node:fs';
import { RawSocket } from '../gateway/raw-socket.ts';
import { deliveryProblems } from '../support/check-delivery.ts';
import { Load } from '../support/cluster.ts';
import { type Attack, fatalFrame, survivableFrame } from '../support/hostile-frame.ts';
import { type Listener, startNode, type TestNode } from '../support/node.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface HostileFramesOptions extends Seeded {
  /** Number of frames, over all sockets. */
  readonly frames: number;
}

interface HostileFramesFigures extends Found {
  readonly frames: Readonly<Record<string, number>>;
  /** Sockets that their own frames ended. */
  readonly ended: number;
  readonly framesPerSecond: number;
  /** Number of messages that each neighbour received meanwhile. */
  readonly messages: number;
  /** Longest wait in ms of a neighbour for the answer to a send. */
  readonly worstSendMs: number;
  /** Growth of the server's memory, in megabytes; null if /proc is not available. */
  readonly grownMb: number | null;
}

/**
 * One node under frames that no honest client sends. Every frame that a socket can survive is
 * answered once, every other frame ends its socket, and the process lives and does not grow. Honest
 * neighbours on the same node get every message in order and nothing else. The limits of how much a
 * socket may ask are lifted, for they would end each after ten such frames
 * (test/gateway/commands.test.ts holds them).
 */
export const hostileFrames = campaign({ whole: () => ({ frames: 100_000 }), run });

async function run(t: Teardown, { seed, frames }: HostileFramesOptions): Promise<HostileFramesFigures> {
  const { url: databaseUrl } = await createTestDatabase(t);
  const node = await startNode(t, {
    databaseUrl,
    env: {
      PARLEY_SOCKET_REQUESTS_PER_SECOND: '1000000',
      PARLEY_SOCKET_BAD_FRAMES_PER_MINUTE: '1000000',
    },
  });
  const { group } = node.demo.conversations;
  const { ada, grace } = node.demo.users;
  const neighbours = [
    await node.listen(group, { token: ada.access_token }),
    await node.listen(group, { token: grace.access_token }),
  ];
  const load = new Load(t, () => node, group, { label: 'honest', width: 1, pauseMs: 0 });
  const pace = new Pace(load);

  const before = megabytesOf(node);
  const startedAt = performance.now();
  const attackers = Array.from({ length: ATTACKERS }, (_, index) => new Attacker(node, seed * 100 + index));
  await Promise.all(attackers.map((attacker) => attacker.attack(frames / ATTACKERS)));
  const seconds = (performance.now() - startedAt) / 1_000;
  await load.stop();
  const after = megabytesOf(node);

  const problems = attackers.flatMap((attacker) => attacker.problems);
  const { child } = node.running;
  if (child.exitCode !== null || child.signalCode !== null) {
    problems.push(
      `the process ended: ${child.exitCode ?? child.signalCode} ${node.running.stderr.slice(-2_000)}`,
    );
  } else {
    problems.push(...(await neighbourProblems(node, neighbours, load)));
  }
  const counts: Record<string, number> = {};
  for (const attacker of attackers) {
    for (const [feature, count] of Object.entries(attacker.counts)) {
      counts[feature] = (counts[feature] ?? 0) + count;
    }
  }
  return {
    frames: counts,
    ended: attackers.reduce((sum, { ended }) => sum + ended, 0),
    framesPerSecond: Math.round(frames / seconds),
    messages: load.acknowledged.length,
    worstSendMs: pace.worstMs,
    grownMb: before === undefined || after === undefined ? null : after - before,
    problems,
  };
}

const ATTACKERS = 8;
/** Survivable frames on one socket, in a row, before the frame that ends it. */
const BURST = 100;

class Attacker {
  readonly counts: Record<string, number> = {};
  readonly problems: string[] = [];
  ended = 0;
  readonly #node: TestNode;
  readonly #random: Random;

  constructor(node: TestNode, seed: number) {
    this.#node = node;
    this.#random = new Random(seed);
  }

  /** Attacks until this many frames are out, or something does not hold. */
  async attack(frames: number): Promise<void> {
    for (let left = frames; left > 0 && this.problems.length === 0; left -= BURST + 1) {
      const survivable = Array.from({ length: Math.min(BURST, left) }, () => survivableFrame(this.#random));
      const fatal = fatalFrame(this.#random);
      for (const { feature } of [...survivable, fatal]) {
        this.counts[feature] = (this.counts[feature] ?? 0) + 1;
      }
      try {
        await this.#round(survivable, fatal);
      } catch (error) {
        this.problems.push(error instanceof Error ? error.message : String(error));
      }
    }
  }

  async #round(survivable: readonly Attack[], fatal: Attack): Promise<void> {
    const { demo } = this.#node;
    const { 'Content-Type': _, ...headers } = this.#node.headers(demo.users.vera.access_token);
    const raw = await RawSocket.open(Number(new URL(this.#node.baseUrl).port), headers);
    for (const { write } of survivable) write(raw);
    // Is answered after all of these frames; a ping would be answered at once.
    raw.frame(TEXT, '{"type":"unsubscribe","id":"last","conversation_id":"cnv_x"}');
    const done = () => raw.texts.some((text) => text.startsWith('{"type":"reply","id":"last"'));
    const sent = [...new Set(survivable.map(({ feature }) => feature))].join(', ');
    await until(() => done() || raw.ended, { what: `answers to ${sent}` });
    if (!done()) throw new Error(`the socket was ended by one of ${sent}`);
    const expected = survivable.filter(({ answered }) => answered).length;
    const answers = raw.texts.filter((text) => ANSWER.test(text)).length - 1;
    if (answers !== expected) this.problems.push(`${expected} frames, ${answers} answers to ${sent}`);
    const strange = raw.texts.find((text) => !ANSWER.test(text) && !OWN.test(text));
    if (strange !== undefined) this.problems.push(`an attacker got ${strange}`);
    fatal.write(raw);
    await until(() => raw.ended, { what: `the end after ${fatal.feature}` });
    this.ended += 1;
  }
}

const TEXT = 1;
const ANSWER = /^\{"type":"(reply|pong)"/;
/** Its greeting, its heartbeats, and its own notifications of the neighbours' messages. */
const OWN = /^\{"type":("(hello|ready|ping)"|"event","event":"notification\.)/;

/** Measures how long honest clients wait. */
class Pace {
  worstMs = 0;

  constructor(load: Load) {
    let seen = 0;
    let lastAt = performance.now();
    const timer = setInterval(() => {
      const now = performance.now();
      if (load.sent.length === seen) this.worstMs = Math.max(this.worstMs, Math.round(now - lastAt));
      else lastAt = now;
      seen = load.sent.length;
    }, 10);
    timer.unref();
  }
}

async function neighbourProblems(
  node: TestNode,
  neighbours: readonly Listener[],
  load: Load,
): Promise<string[]> {
  const stored = (await node.page(node.demo.conversations.group)).map(({ sequence }) => sequence);
  await until(() => neighbours.every((neighbour) => neighbour.created().length >= stored.length), {
    what: 'the neighbours to get everything',
  });
  const problems = neighbours.flatMap((neighbour) => [
    ...deliveryProblems(neighbour.sequences(), stored),
    ...(neighbour.closeCode === undefined ? [] : [`a neighbour was closed: ${neighbour.closeCode}`]),
    ...neighbour.frames
      .filter(({ type, event }) => !HONEST.has(event ?? type))
      .map((frame) => `a neighbour got ${JSON.stringify(frame)}`),
  ]);
  if (load.acknowledged.length !== load.sent.length) problems.push('an honest send was refused');
  if (load.acknowledged.length !== stored.length) {
    problems.push(`${load.acknowledged.length} honest sends, ${stored.length} messages`);
  }
  return problems;
}

const HONEST = new Set(['hello', 'ready', 'reply', 'caught_up', 'message.created', 'notification.created']);

/** Returns resident memory. */
function megabytesOf({ running: { child } }: TestNode): number | undefined {
  try {
    const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1];
    return kilobytes === undefined ? undefined : Math.round(Number(kilobytes) / 1_000);
  } catch {
    return undefined;
  }
}
