import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { freshDirectory } from '../start/parley.ts';
import type { EarlierCheckout } from './earlier-checkout.ts';
import { startNode, type TestNode } from './node.ts';
import type { Random } from './random.ts';
import type { Teardown } from './teardown.ts';
import { until } from './until.ts';

/** `earlier` runs the code of the previous version, `current` that of this checkout. */
export type Side = 'earlier' | 'current';

export interface VersionPairOptions {
  readonly earlier: EarlierCheckout;
  /** The Service-Version of all requests, which both sides know. */
  readonly version: string;
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly env: NodeJS.ProcessEnv;
  readonly random: Random;
}

export interface AskOptions {
  /** A function makes the body for each attempt, if a time in it would lapse. */
  readonly body?: object | (() => object);
  /** Default: the admin key. Null: the caller has no credential. */
  readonly token?: string | null;
  /** False if a repetition is harmless without an Idempotency-Key. */
  readonly keyed?: boolean;
}

export interface Answered {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * A node of each side over one Postgres, one Redis and one data directory, as in a rolling upgrade:
 * either may be killed at any time, and callers use any node that lives.
 */
export class VersionPair {
  readonly dataDir: string;
  readonly kills: Record<Side, number> = { earlier: 0, current: 0 };
  readonly #start: (side: Side) => Promise<TestNode>;
  readonly #random: Random;
  readonly #nodes = new Map<Side, TestNode>();
  /** Starts run one after the other, since each writes demo.json into the shared directory. */
  #starting: Promise<unknown> = Promise.resolve();
  #first: TestNode | undefined;

  constructor(t: Teardown, { earlier, version, random, ...options }: VersionPairOptions) {
    this.dataDir = freshDirectory(t);
    this.#random = random;
    this.#start = async (side) => {
      const node = await startNode(t, {
        ...options,
        dataDir: this.dataDir,
        ...(side === 'earlier' && { earlier }),
      });
      return node.at(version);
    };
  }

  /** The demo account, with tokens of the first start, which are valid for a day. */
  get demo(): TestNode['demo'] {
    if (this.#first === undefined) throw new Error('no node was started');
    return this.#first.demo;
  }

  /** Resolves when the node is ready. Rejects if it does not start. */
  start(side: Side): Promise<void> {
    const started = this.#starting.then(async () => {
      const node = await this.#start(side);
      this.#first ??= node;
      this.#nodes.set(side, node);
    });
    this.#starting = started.catch(() => undefined);
    return started;
  }

  /** Sends kill -9. Resolves when the process, if there is one, has ended. */
  async kill(side: Side): Promise<void> {
    const node = this.#nodes.get(side);
    if (node === undefined) return;
    this.#nodes.delete(side);
    this.kills[side] += 1;
    await node.kill('SIGKILL');
  }

  /** Returns any node that lives, or undefined. */
  pick(): TestNode | undefined {
    const nodes = [...this.#nodes.values()];
    return nodes.length === 0 ? undefined : this.#random.pick(nodes);
  }

  /**
   * Asks nodes until one has decided, as a client does whose node may die under the request.
   * Returns the answer, whatever it is. Rejects after two minutes without an answer.
   */
  ask(method: string, path: string, { body, token, keyed = true }: AskOptions = {}): Promise<Answered> {
    const key = keyed && method !== 'GET' ? { 'Idempotency-Key': randomUUID() } : {};
    let last = 'none';
    return until(
      async () => {
        const node = this.pick();
        if (node === undefined) return undefined;
        const { Authorization, 'Service-Account': account, ...headers } = node.headers(token ?? undefined);
        const known = token === null ? {} : { Authorization, 'Service-Account': account };
        const answer = await fetch(`${node.baseUrl}${path}`, {
          method,
          headers: { ...headers, ...known, ...key, Connection: 'close' } as Record<string, string>,
          ...(body !== undefined && { body: JSON.stringify(typeof body === 'function' ? body() : body) }),
          signal: AbortSignal.timeout(REQUEST_MS),
        })
          .then(async (response) => ({ status: response.status, text: await response.text() }))
          .catch(() => undefined);
        last = answer === undefined ? 'none' : `${answer.status} ${answer.text}`;
        if (answer !== undefined && !isTransient(answer)) {
          return { status: answer.status, body: JSON.parse(answer.text) as Answered['body'] };
        }
        await pause(RETRY_MS);
        return undefined;
      },
      { what: () => `an answer to ${method} ${path}, the last was ${last}`, timeoutMs: ANSWERED_MS },
    );
  }

  /** Returns the body of an accepted request. Rejects if it is refused. */
  async accepted(method: string, path: string, options: AskOptions = {}): Promise<Answered['body']> {
    const { status, body } = await this.ask(method, path, options);
    if (status < 300) return body;
    throw new Error(`${method} ${path} is answered ${status}: ${JSON.stringify(body)}`);
  }

  /** Returns the id of the created resource. */
  async made(path: string, body: object, options: AskOptions = {}): Promise<string> {
    return String((await this.accepted('POST', path, { ...options, body })).id);
  }
}

const REQUEST_MS = 30_000;
/** A node that died under a request holds its Idempotency-Key for 30 seconds. */
const ANSWERED_MS = 120_000;
const RETRY_MS = 200;

function isTransient({ status, text }: { readonly status: number; readonly text: string }): boolean {
  return status >= 500 || status === 429 || text.includes('"idempotency_in_progress"');
}
