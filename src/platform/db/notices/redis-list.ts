import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../log.ts';
import type { Querier } from '../connection/handle.ts';
import { statement } from '../connection/statement.ts';
import type { DueWatch } from '../queue/due-watch.ts';

export interface RedisListOptions {
  readonly database: Querier;
  /** Names of the Redis servers that this process knows, from REDIS_URL. */
  readonly known: readonly string[];
  readonly log: Logger;
}

/** A change of the list, as a node makes it together with the others. */
export interface ListChange {
  /** Called twice a second from when the change is known until all nodes have made it. */
  readonly onUnderWay: () => void;
  /** Called once, at the moment of the change. */
  readonly use: (names: readonly string[]) => Promise<void>;
  /** Called if this process lacks a Redis of the new list and must not go on. */
  readonly onLacking: (error: Error) => void;
}

/**
 * The numbered list of Redis servers that the nodes of this database use, kept in Postgres. A node
 * that knows more servers joins with these. All nodes change over together. A change is proposed,
 * which a node that lacks a server of the new list refuses; then it gets a moment some seconds
 * ahead (src/platform/engine/DECISIONS.md#several-redis).
 */
export class RedisList {
  readonly #options: RedisListOptions;
  #used: UsedList;
  /** The number of the change that is being made. */
  #changing = 0;
  #readMs = Number.NEGATIVE_INFINITY;

  /** Rejects with one line if this process lacks a Redis of the list. */
  static async open(options: RedisListOptions): Promise<RedisList> {
    const { database, known, log } = options;
    await database.query(WRITE_FIRST, { number: 1, names: known });
    const { used, next } = await read(database);
    const lacking = lackingOf(used.names, known);
    // A deployment of one may move to another address.
    const hasMoved = lacking !== undefined && used.names.length === 1 && known.length === 1 && !next;
    if (hasMoved) await database.query(WRITE, { ...used, names: known });
    else if (lacking !== undefined) throw new Error(refusal(lacking, used));
    else if (known.length > used.names.length) {
      log.warn(
        { list: used.number, used: used.names, known },
        'REDIS_URL has more than this deployment uses: when every node was restarted with it, run `admin redis use`',
      );
    }
    return new RedisList(options, hasMoved ? { ...used, names: known } : used);
  }

  private constructor(options: RedisListOptions, used: UsedList) {
    this.#options = options;
    this.#used = used;
  }

  get names(): readonly string[] {
    return this.#used.names;
  }

  get number(): number {
    return this.#used.number;
  }

  /** Follows changes from now on. */
  follow(watch: Pick<DueWatch, 'add'>, change: ListChange): void {
    watch.add({
      name: 'redis_list',
      condition: HAS_CHANGED,
      onDue: () => {},
      onLook: (hasChanged, beganMs) => {
        const isOverlooked = beganMs - this.#readMs > OVERLOOKED_AFTER_MS && this.#readMs > 0;
        if (hasChanged || isOverlooked) void this.#look(change);
        this.#readMs = beganMs;
      },
    });
  }

  async #look(change: ListChange): Promise<void> {
    const { database, known, log } = this.#options;
    try {
      const { used, next, writtenAt } = await read(database);
      if (next !== undefined && next.inMs === null) {
        const lacking = lackingOf(next.names, known);
        if (lacking !== undefined) {
          const reason = `a node has no Redis ${lacking}: restart it with the new REDIS_URL`;
          await database.query(REFUSE, reason, writtenAt);
        }
        return;
      }
      const to = next ?? used;
      if (to.number <= this.#used.number || to.number === this.#changing) return;
      this.#changing = to.number;
      await this.#change(to, next?.inMs ?? 0, change);
    } catch (error) {
      this.#changing = 0;
      log.warn({ err: error }, 'reading the list of Redis failed');
    }
  }

  async #change(to: UsedList, inMs: number, { onUnderWay, use, onLacking }: ListChange): Promise<void> {
    const { known, log } = this.#options;
    const lacking = lackingOf(to.names, known);
    if (lacking !== undefined) return onLacking(new Error(refusal(lacking, to)));
    onUnderWay();
    const saying = setInterval(onUnderWay, SAID_EVERY_MS);
    try {
      await delay(inMs);
      await use(to.names);
      this.#used = to;
      log.info({ list: to.number, used: to.names }, 'another list of Redis is in use');
      // The other nodes change over meanwhile.
      await delay(SKEW_MS);
    } finally {
      clearInterval(saying);
    }
  }
}

/**
 * Makes all nodes of the database use the Redis servers with these names. Resolves when they do;
 * rejects, without a change, if a node lacks a server.
 */
export async function changeRedisList(database: Querier, names: readonly string[]): Promise<UsedList> {
  await database.query(WRITE_FIRST, { number: 1, names });
  const { used, next } = await read(database);
  if (next !== undefined && next.inMs !== null) throw new Error('a change of the list is under way');
  if (isSame(used.names, names)) return used;
  const to = { number: used.number + 1, names };
  await database.query(WRITE, { ...used, next: to });
  await delay(REFUSED_WITHIN_MS);
  const { refused } = await read(database);
  if (refused !== null) {
    await database.query(WRITE, { ...used });
    throw new Error(refused);
  }
  await database.query(AGREE, AHEAD_MS);
  await delay(AHEAD_MS + SKEW_MS);
  return to;
}

export interface UsedList {
  readonly number: number;
  readonly names: readonly string[];
}

/** Longer than the time until the next look, even if a look fails. */
const REFUSED_WITHIN_MS = 3_000;
/** After this time every node is in doubt, and looks into Postgres once a second. */
const AHEAD_MS = 3_000;
const SKEW_MS = 2_000;
const SAID_EVERY_MS = 500;
const OVERLOOKED_AFTER_MS = 5_000;

function lackingOf(names: readonly string[], known: readonly string[]): string | undefined {
  return names.find((name) => !known.includes(name));
}

function isSame(names: readonly string[], others: readonly string[]): boolean {
  return names.length === others.length && lackingOf(names, others) === undefined;
}

function refusal(lacking: string, { number, names }: UsedList): string {
  return (
    `REDIS_URL has no Redis ${lacking}, which this deployment uses (list ${number}: ${names.join(', ')}): add it there; ` +
    'to use others without a stop, restart every node with the old and the new ones, and then run `admin redis use` with the new list'
  );
}

interface ReadList {
  readonly used: UsedList;
  readonly refused: string | null;
  /** Tells proposals apart. */
  readonly writtenAt: string;
  /** The next list, if one is ahead; `inMs` is null while it is only proposed. */
  readonly next: (UsedList & { readonly inMs: number | null }) | undefined;
}

async function read(database: Querier): Promise<ReadList> {
  const [row] = await database.query(READ);
  const { number, names, next, refused = null, changed_at: writtenAt = '' } = JSON.parse(row!.value);
  const inMs = row!.in_ms;
  if (next !== undefined && inMs !== null && inMs <= 0)
    return { used: next, refused, writtenAt, next: undefined };
  return { used: { number, names }, refused, writtenAt, next: next && { ...next, inMs } };
}

const SETTING = 'redis_list';

// `changed_at` is set by every write below but the first, `from` by the last.
const HAS_CHANGED = `(SELECT (value::json->>'changed_at')::timestamptz > statement_timestamp() - interval '20 s'
   FROM settings WHERE name = '${SETTING}')`;

const READ = statement<[], { value: string; in_ms: number | null }>('read-redis-list')`
    SELECT value,
      (extract(epoch FROM (value::json->>'from')::timestamptz - clock_timestamp()) * 1000)::float8 AS in_ms
    FROM settings WHERE name = '${SETTING}'`;

const WRITE_FIRST = statement<[list: object]>('write-first-redis-list')`
    INSERT INTO settings (name, value) VALUES ('${SETTING}', $1::jsonb::text) ON CONFLICT (name) DO NOTHING`;

const WRITE = statement<[list: object]>('write-redis-list')`
    UPDATE settings SET value = ($1::jsonb || jsonb_build_object('changed_at', clock_timestamp()))::text
    WHERE name = '${SETTING}'`;

const REFUSE = statement<[reason: string, writtenAt: string]>('refuse-redis-list')`
    UPDATE settings SET value = (value::jsonb || jsonb_build_object('refused', $1::text))::text
    WHERE name = '${SETTING}' AND value::jsonb->>'changed_at' = $2`;

const AGREE = statement<[aheadMs: number]>('agree-redis-list')`
    UPDATE settings SET value = (value::jsonb || jsonb_build_object('changed_at', clock_timestamp(),
      'from', clock_timestamp() + $1::int * interval '1 ms'))::text
    WHERE name = '${SETTING}'`;
