import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { codeOf } from '../../platform/db/connection/unavailable.ts';
import { type DueWatch, UNWOKEN_EVERY_MS } from '../../platform/db/queue/due-watch.ts';
import { Loop } from '../../platform/lifecycle.ts';
import type { Logger } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { writeBlocks, writeHeads } from './blocks.ts';
import {
  allowRound,
  beginRound,
  endRound,
  HAS_WAITING,
  lockIndex,
  MAX_MESSAGES,
  MESSAGES_A_MS,
  PART_MESSAGES,
  type Round,
  readWaiting,
  returnConversations,
} from './changes.ts';

interface IndexerOptions {
  readonly database: Database;
  readonly watch: Pick<DueWatch, 'add'>;
  readonly metrics: Pick<Metrics, 'searchIndexed' | 'searchLagSeconds' | 'searchRoundSeconds'>;
  readonly log: Logger;
}

/**
 * Keeps the blocks of a search up to date after commits. Every node has one; the node that has
 * claimed the index for a round works. Changes leave the queue after their blocks are written, so
 * that a node that dies loses nothing. Each transaction that writes blocks takes a lock, which
 * keeps two nodes apart after a claim has expired.
 *
 * A round takes up to MAX_MESSAGES, in parts of about 5 ms. The next part follows as soon as that
 * many messages may have been sent at the rate that search keeps up with, so 3,500 a second are
 * indexed within a second or two. At higher rates the index rests nine times as long as it works (a
 * tenth of a core) and lags. Searches read the rest directly (`readRecent`, search-messages.ts).
 */
export class Indexer {
  readonly #options: IndexerOptions;
  readonly #loop: Loop;
  #next: NodeJS.Timeout | undefined;

  constructor(options: IndexerOptions) {
    this.#options = options;
    this.#loop = new Loop({
      intervalMs: UNWOKEN_EVERY_MS,
      run: (signal) => this.#rounds(signal),
      onError: (error) => options.log.warn({ err: error }, 'indexing for search failed'),
    });
    options.watch.add({ name: 'search', condition: HAS_WAITING, onDue: () => this.#loop.wake() });
  }

  async close(): Promise<void> {
    await this.#loop.close();
    clearTimeout(this.#next);
  }

  async #rounds(signal: AbortSignal): Promise<void> {
    const { database, metrics } = this.#options;
    const waiting = await readWaiting(database);
    metrics.searchLagSeconds.set(Math.max(0, waiting.lag ?? 0));
    if (signal.aborted || !waiting.is_due || (waiting.lag === null && waiting.is_filled)) return;
    const beganMs = performance.now();
    const done = await indexSome(database, async (restMs) => {
      await delay(restMs, undefined, { signal }).catch(() => undefined);
      return !signal.aborted;
    });
    if (done === undefined) return;
    clearTimeout(this.#next);
    // A smaller round has taken everything that waited.
    if (done.messages < MAX_MESSAGES / 2) metrics.searchLagSeconds.set(0);
    else this.#next = setTimeout(() => this.#loop.wake(), done.restMs + 1);
    metrics.searchIndexed.inc(done.messages);
    metrics.searchRoundSeconds.observe((performance.now() - beganMs) / 1_000);
  }
}

interface Indexed {
  /** The number of messages that were read. */
  readonly messages: number;
  /** Milliseconds that the index is to rest after the round, as recorded. */
  readonly restMs: number;
}

/**
 * Indexes the oldest changes. Returns undefined if another node indexes, the index rests, or `rest`
 * ended the round: it waits that many milliseconds after each part, and resolves with whether to
 * continue.
 *
 * Each part is a short transaction followed by a rest, because a round in one piece kept a core
 * busy for 250 ms and doubled the p99 of sends. The changes leave the queue in the last
 * transaction. The round after an interrupted one checks what that has indexed, but does not index
 * it again.
 */
export async function indexSome(
  database: Database,
  rest: (ms: number) => Promise<boolean>,
): Promise<Indexed | undefined> {
  let beganMs = performance.now();
  const round = await database.transaction(beginRound);
  if (round === undefined) return undefined;
  const restAfter = (size: number): number => {
    const workedMs = performance.now() - beganMs;
    const longestMs = workedMs * REST;
    const pacedMs = Math.max(0, size / MESSAGES_A_MS - workedMs);
    return Math.round(round.isTooMuch ? longestMs : Math.min(longestMs, pacedMs));
  };
  let messages = 0;
  for (let part = nextPart(round); part !== undefined; part = nextPart(round)) {
    const { heads, fresh, changedIds } = part;
    const write = async (tx: Tx) => {
      if (!(await lockIndex(tx, [...heads, ...fresh]))) return undefined;
      await writeHeads(tx, heads);
      const written = await writeBlocks(tx, fresh, changedIds, PART_MESSAGES);
      if (written.unread.length === 0 || messages < MAX_MESSAGES) return written;
      await returnConversations(tx, written.unread);
      return { ...written, unread: [] };
    };
    const written = await database.transaction(write).catch((error: unknown) => {
      if (codeOf(error) !== LOCK_TIMEOUT) throw error;
      return database.transaction((tx) => allowRound(tx, 0));
    });
    if (!written) return undefined;
    messages += written.messages;
    for (const id of written.unread) round.fresh.set(id, PART_MESSAGES);
    if (!(await rest(restAfter(written.messages + heads.length * HEAD_SIZE)))) {
      await database.transaction((tx) => allowRound(tx, 0));
      return undefined;
    }
    beganMs = performance.now();
  }
  return database.transaction(async (tx) => {
    if (!(await lockIndex(tx))) return undefined;
    await endRound(tx, round);
    const restMs = restAfter(0);
    await allowRound(tx, restMs);
    return { messages, restMs };
  });
}

/** The work of one transaction. */
interface Part {
  readonly heads: string[];
  readonly fresh: string[];
  readonly changedIds: string[];
}

/** Takes about PART_MESSAGES of the rest of a round, or returns undefined if nothing is left. */
function nextPart({ heads, fresh, changed }: Round): Part | undefined {
  const part: Part = { heads: [], fresh: [], changedIds: [] };
  let size = 0;
  for (const id of heads) {
    if (size >= PART_MESSAGES) return part;
    heads.delete(id);
    part.heads.push(id);
    size += HEAD_SIZE;
  }
  for (const [id, count] of fresh) {
    if (size >= PART_MESSAGES) return part;
    fresh.delete(id);
    part.fresh.push(id);
    part.changedIds.push(...(changed.get(id) ?? []));
    size += count;
  }
  return size === 0 ? undefined : part;
}

/** The cost of writing the head of a conversation, in messages. */
const HEAD_SIZE = 4;
const REST = 9;
/** SQLSTATE: a change of a message did not commit in the time for which a part waits. */
const LOCK_TIMEOUT = '55P03';
