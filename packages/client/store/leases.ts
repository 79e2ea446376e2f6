import { answerOf, type Objects } from './objects.ts';

interface Lease {
  readonly name: string;
  readonly holder: string;
  /** Milliseconds since 1970. */
  readonly until: number;
}

/** Runs work alone by leases in the database, where the platform has no Web Locks. */
export class Leases {
  readonly #objects: Objects;
  readonly #table: string;

  constructor(objects: Objects, table: string) {
    this.#objects = objects;
    this.#table = table;
  }

  /** As LockManager.request. */
  async request(name: string, { signal }: { signal: AbortSignal }, work: () => Promise<void>): Promise<void> {
    const holder = `${Math.random()}`;
    while (!(await this.#take(name, holder))) {
      signal.throwIfAborted();
      await pause(WAIT_MS);
    }
    const renewal = setInterval(() => void this.#take(name, holder).catch(() => {}), LEASE_MS / 3);
    try {
      signal.throwIfAborted();
      await work();
    } finally {
      clearInterval(renewal);
      await this.#release(name, holder).catch(() => {});
    }
  }

  /** Returns whether the holder has the lease now. */
  #take(name: string, holder: string): Promise<boolean> {
    return this.#objects.run('readwrite', this.#table, async (leases) => {
      const held = (await answerOf(leases.get(name))) as Lease | undefined;
      const now = Date.now();
      if (held !== undefined && held.holder !== holder && held.until > now) return false;
      leases.put({ name, holder, until: now + LEASE_MS } satisfies Lease);
      return true;
    });
  }

  #release(name: string, holder: string): Promise<void> {
    return this.#objects.run('readwrite', this.#table, async (leases) => {
      const held = (await answerOf(leases.get(name))) as Lease | undefined;
      if (held?.holder === holder) leases.delete(name);
    });
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Timers of hidden pages fire once a minute. */
const LEASE_MS = 90_000;
const WAIT_MS = 500;
