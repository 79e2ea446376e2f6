import { connect, type Socket } from 'node:net';
import { FORMER_NAMES } from '@parley/protocol/versions.ts';
import { frameAt } from '../gateway/raw-socket.ts';
import { Load } from '../support/cluster.ts';
import { startNode, type TestNode } from '../support/node.ts';
import { createTestDatabase } from '../support/postgres.ts';
import type { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface UpgradesOptions extends Seeded {
  readonly upgrades: number;
}

interface UpgradesFigures extends Found {
  /** Number of opened sockets, by the behaviour of their clients. */
  readonly upgrades: Readonly<Record<string, number>>;
  /** Messages that were sent meanwhile. */
  readonly messages: number;
  readonly upgradesPerSecond: number;
}

/**
 * One node under requests that become sockets, hundreds at once, while messages are sent. Each
 * socket gets its answer and its first frames whole and in order, and none is closed before its
 * client leaves. src/edge/gateway/socket/upgrade-cork.ts says how they could fail; it depends on
 * the heap, so clients of several kinds take turns, and some leave at once.
 */
export const upgrades = campaign({ whole: () => ({ upgrades: 1_000_000 }), run });

async function run(t: Teardown, { upgrades }: UpgradesOptions, random: Random): Promise<UpgradesFigures> {
  const { url: databaseUrl } = await createTestDatabase(t);
  const node = await startNode(t, {
    databaseUrl,
    env: { PARLEY_SOCKET_SOCKETS_PER_ACTOR: '1000000' },
  });
  const load = new Load(t, () => node, node.demo.conversations.group, { label: 'beside', width: 2 });
  const counts: Record<string, number> = {};
  const problems: string[] = [];
  const startedAt = performance.now();
  let before: Client[] = [];
  for (let left = upgrades; left > 0 && problems.length === 0; left -= AT_ONCE) {
    const clients = Array.from({ length: Math.min(AT_ONCE, left) }, () => new Client(node, random));
    await Promise.all(clients.map(({ greeted }) => greeted));
    // The sockets of the previous wave have been open all that time.
    problems.push(...before.flatMap((client) => client.leave()));
    for (const { kind } of clients) counts[kind] = (counts[kind] ?? 0) + 1;
    before = clients;
  }
  const done = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const upgradesPerSecond = Math.round((done / (performance.now() - startedAt)) * 1_000);
  problems.push(...before.flatMap((client) => client.leave()));
  await load.stop();
  return { upgrades: counts, messages: load.acknowledged.length, upgradesPerSecond, problems };
}

/** Within the backlog of uWS (512). */
const AT_ONCE = 200;
const PATIENCE_MS = 60_000;

/** The more frequent kinds are listed more than once. */
const KINDS = ['known', 'known', 'unknown', 'unknown', 'former', 'second', 'gone'] as const;

/**
 * A raw client.
 * - `known`: its key is in the request, so `ready` follows `hello`.
 * - `unknown`: it has not said yet who it is.
 * - `former`: the name of its version causes further headers in the answer.
 * - `second`: the connection had another request before.
 * - `gone`: it leaves about when the answer comes.
 */
class Client {
  readonly kind: (typeof KINDS)[number];
  /** Resolves when the first frames have come, or the connection has ended. */
  readonly greeted: Promise<void>;
  readonly #socket: Socket;
  readonly #upgrade: string;
  #received: Buffer = NOTHING;
  #isGreeted = false;
  #ended: string | undefined;

  constructor(node: TestNode, random: Random) {
    this.kind = random.pick(KINDS);
    const headers = {
      ...node.headers(),
      ...(this.kind === 'former' && { 'Service-Version': FORMER_NAME }),
    };
    this.#upgrade = request('/v1/realtime', { ...UPGRADE, ...(this.kind !== 'unknown' && headers) });
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = (reason: string) => {
      this.#ended ??= reason;
      resolve();
    };
    const timer = setTimeout(() => end('nothing more came'), PATIENCE_MS);
    this.greeted = promise.finally(() => clearTimeout(timer));
    this.#socket = connect({ host: '127.0.0.1', port: Number(new URL(node.baseUrl).port), noDelay: true });
    this.#socket.on('data', (bytes) => this.#receive(bytes) && resolve());
    this.#socket.on('error', (error) => end(error.message));
    this.#socket.on('close', () => end('closed'));
    this.#socket.write(this.kind === 'second' ? request('/healthz', {}) : this.#upgrade);
    // Within the time that an upgrade takes.
    const leavesAfterMs = random.below(4);
    if (this.kind === 'gone') this.#socket.on('connect', () => setTimeout(() => this.leave(), leavesAfterMs));
  }

  /**
   * Ends the connection with a reset, since ports would not suffice otherwise. Returns its problems
   * so far.
   */
  leave(): string[] {
    const ended = this.#ended;
    this.#ended ??= 'left';
    this.#socket.resetAndDestroy();
    if (this.kind === 'gone' || (ended === undefined && this.#isGreeted)) return [];
    return [`${this.kind}: ${ended ?? 'open'} behind ${JSON.stringify(this.#received.toString())}`];
  }

  /** Returns true when the first frames have come. */
  #receive(bytes: Buffer): boolean {
    if (this.#isGreeted) return true;
    this.#received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes]);
    if (this.kind === 'second' && this.#received.includes(HEALTHY)) {
      this.#received = NOTHING;
      this.#socket.write(this.#upgrade);
    }
    this.#isGreeted = isGreeting(this.#received, this.kind === 'unknown' ? ['hello'] : ['hello', 'ready']);
    return this.#isGreeted;
  }
}

/** Returns whether the bytes begin with the answer, directly followed by frames of these types. */
function isGreeting(bytes: Buffer, types: readonly string[]): boolean {
  let at = bytes.indexOf(HEAD_END) + HEAD_END.length;
  if (at < HEAD_END.length || !bytes.toString('latin1', 0, at).startsWith('HTTP/1.1 101 ')) return false;
  for (const type of types) {
    const frame = frameAt(bytes, at);
    if (frame === undefined || !frame.payload.toString().startsWith(`{"type":"${type}"`)) return false;
    at = frame.end;
  }
  return true;
}

const HEAD_END = '\r\n\r\n';
const NOTHING = Buffer.alloc(0);
const HEALTHY = '{"status":"up"}';
const [FORMER_NAME] = FORMER_NAMES.keys();
const UPGRADE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

function request(path: string, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries({ Host: '127.0.0.1', ...headers }).map(([name, value]) => `${name}: ${value}`);
  return `GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}
