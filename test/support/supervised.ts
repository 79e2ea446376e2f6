import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { startNode, type TestNode } from './node.ts';
import { createTestDatabase } from './postgres.ts';
import { startRedis } from './redis.ts';
import type { Teardown } from './teardown.ts';
import { until } from './until.ts';

export interface SupervisedOptions {
  readonly processes: number;
  readonly env?: NodeJS.ProcessEnv;
}

/** Several nodes of one supervisor, as a real process with children. */
export class Supervised {
  /** Sends requests to any of the nodes; its process is the supervisor. */
  readonly node: TestNode;
  readonly #env: NodeJS.ProcessEnv;

  private constructor(node: TestNode, env: NodeJS.ProcessEnv) {
    this.node = node;
    this.#env = env;
  }

  /** Resolves when every node listens. */
  static async start(t: Teardown, { processes, env = {} }: SupervisedOptions): Promise<Supervised> {
    const { url: DATABASE_URL } = await createTestDatabase(t);
    const { url: REDIS_URL } = await startRedis(t);
    return Supervised.#startWith(t, {
      DATABASE_URL,
      REDIS_URL,
      PARLEY_PROCESSES: String(processes),
      PARLEY_LOG_LEVEL: 'info',
      ...env,
    });
  }

  static async #startWith(t: Teardown, env: NodeJS.ProcessEnv, dataDir?: string): Promise<Supervised> {
    const { DATABASE_URL: databaseUrl, ...others } = env;
    const node = await startNode(t, { databaseUrl: databaseUrl!, env: others, ...(dataDir && { dataDir }) });
    await node.running.logs(/every node listens/);
    const supervised = new Supervised(node, env);
    // A node says that it has started a moment after it listens.
    await until(() => supervised.pids().length === Number(env.PARLEY_PROCESSES), { what: 'all nodes' });
    return supervised;
  }

  /** Starts another supervisor with the same settings, on the same port. */
  again(t: Teardown): Promise<Supervised> {
    const PORT = new URL(this.node.baseUrl).port;
    return Supervised.#startWith(t, { ...this.#env, PORT }, this.node.dataDir);
  }

  get log(): readonly Record<string, unknown>[] {
    const lines = this.node.running.stderr.trim().split('\n');
    return lines.map((line) => JSON.parse(line));
  }

  /** Returns the process id of each slot's latest node. */
  pids(): number[] {
    const started = this.log.filter(({ msg, process }) => msg === 'started' && process !== undefined);
    return [...new Map(started.map(({ process, pid }) => [process, Number(pid)])).values()];
  }

  /** Returns the connections that each of these processes has accepted. */
  accepted(pids: readonly number[]): number[] {
    const port = Number(new URL(this.node.baseUrl).port).toString(16).toUpperCase().padStart(4, '0');
    const inodes = new Set<string>();
    for (const line of readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1)) {
      const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
      if (local?.endsWith(`:${port}`) && state === ESTABLISHED) inodes.add(`socket:[${inode}]`);
    }
    return pids.map((pid) => openFiles(pid).filter((file) => inodes.has(file)).length);
  }
}

const ESTABLISHED = '01';

function openFiles(pid: number): string[] {
  const directory = `/proc/${pid}/fd`;
  return readdirSync(directory).flatMap((fd) => {
    try {
      return readlinkSync(`${directory}/${fd}`);
    } catch {
      return [];
    }
  });
}

export function isRunning(pid: number): boolean {
  try {
    // A child of an ended process is adopted, and is there until its new parent looks.
    return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

export function allEnd(pids: readonly number[]): Promise<unknown> {
  return until(() => !pids.some(isRunning), { what: 'all processes have ended' });
}
