import { LRUCache } from 'lru-cache';
import type { Database } from '../../db/database.ts';
import { GatheredReads } from '../../db/gathered-reads.ts';
import { statement } from '../../db/statement.ts';
import type { CreatedFrame } from '../../engine/frame.ts';
import { toFrame } from '../../engine/publish.ts';
import type { Downloads } from '../../resources/attachment.ts';
import { type MessageRow, messageColumns, messageEvent, withParts } from '../../resources/message.ts';
import type { ConversationStream } from '../stream/conversation-stream.ts';

/** Numbers read by one query; larger ranges take several queries, one after the other. */
const READ_NUMBERS = 5_000;

/** How long a range is kept for the next reader, in milliseconds, and how many bytes are kept in all. */
const RECENT_MS = 2_000;
const RECENT_BYTES = 32 * 1_024 * 1_024;

/** A range of numbers that a stream has delivered: after `after`, up to and including `upTo`. */
export interface DeliveredRange {
  readonly stream: ConversationStream;
  readonly after: number;
  readonly upTo: number;
}

/**
 * The `message.created` frames of ranges that streams have delivered, and that are settled therefore, for readers
 * that catch up. When a node's sockets come back together, the ranges that they miss overlap: every message is read
 * and encoded once for all readers of the same moment, and kept for the next ones as long as nothing in the stream
 * changes. A change that is not delivered yet reaches a reader after the range that it reads.
 */
export class RangeCache {
  readonly #options: { readonly database: Database; readonly files: Downloads };
  readonly #reads = new GatheredReads((asks: readonly DeliveredRange[]) => this.#readAll(asks));
  /** The last range that was read of a stream. */
  readonly #recent = new LRUCache<ConversationStream, Recent>({
    ttl: RECENT_MS,
    maxSize: RECENT_BYTES,
    sizeCalculation: ({ frames }) => frames.reduce((sum, frame) => sum + bytesOf(frame), 1),
  });

  #erasures = 0;

  constructor(options: { readonly database: Database; readonly files: Downloads }) {
    this.#options = options;
  }

  /** Returns the frames in the order of their numbers. */
  read(range: DeliveredRange): Promise<readonly CreatedFrame[]> {
    const { stream, after, upTo } = range;
    const recent = this.#recent.get(stream);
    const isCurrent = recent?.changes === stream.changes && recent.after <= after && recent.upTo >= upTo;
    return isCurrent ? Promise.resolve(within(recent.frames, range)) : this.#reads.ask(range);
  }

  /** Forgets what was read of a stream in which a message has lost its content. */
  erase(stream: ConversationStream): void {
    this.#recent.delete(stream);
  }

  /** Forgets everything that was read, also by what reads now. */
  eraseAll(): void {
    this.#erasures += 1;
    this.#recent.clear();
  }

  async #readAll(asks: readonly DeliveredRange[]): Promise<(readonly CreatedFrame[])[]> {
    // By id: a stream that was closed and opened again reads the same rows.
    const frames = new Map(asks.map(({ stream }): [string, CreatedFrame[]] => [stream.id, []]));
    const audiences = new Map(asks.map(({ stream }) => [stream.id, stream.audience]));
    const ranges = merged(asks);
    // Taken before the read, which may not include later changes.
    const changes = ranges.map(({ stream }) => stream.changes);
    const erasures = this.#erasures;
    for (const some of inQueries(ranges)) {
      for (const message of await this.#readRanges(some)) {
        const id = message.row.conversation_id;
        frames.get(id)!.push(toFrame(messageEvent('message.created', message, audiences.get(id)!)));
      }
    }
    for (const [index, range] of ranges.entries()) {
      const { stream, after, upTo } = range;
      // What has changed meanwhile is of no use to the next reader, and may contain what was erased.
      if (stream.changes !== changes[index] || this.#erasures !== erasures) continue;
      const read = { after, upTo, changes: stream.changes, frames: within(frames.get(stream.id)!, range) };
      this.#recent.set(stream, read);
    }
    return asks.map((ask) => within(frames.get(ask.stream.id)!, ask));
  }

  async #readRanges(ranges: readonly DeliveredRange[]) {
    const { database, files } = this.#options;
    const rows = await database.query(
      READ_RANGES,
      ranges.map(({ stream }) => stream.id),
      ranges.map(({ after }) => after),
      ranges.map(({ upTo }) => upTo),
    );
    return withParts(database, files, rows);
  }
}

interface Recent {
  readonly after: number;
  readonly upTo: number;
  /** ConversationStream.changes before it was read. */
  readonly changes: number;
  readonly frames: readonly CreatedFrame[];
}

function within(frames: readonly CreatedFrame[], { after, upTo }: DeliveredRange): readonly CreatedFrame[] {
  const [first, last] = [frames[0], frames.at(-1)];
  if (first === undefined || last === undefined) return frames;
  if (first.sequence > after && last.sequence <= upTo) return frames;
  return frames.filter(({ sequence }) => sequence > after && sequence <= upTo);
}

/** Doubled, because the form of an older version is kept beside the newest (forms.ts). */
function bytesOf({ team, customer }: CreatedFrame): number {
  return 2 * ((team?.length ?? 0) + (customer?.length ?? 0));
}

/** Returns the same numbers in ranges that do not overlap, in the order of ids and numbers. */
function merged(asks: readonly DeliveredRange[]): DeliveredRange[] {
  const sorted = [...asks].sort((a, b) => compare(a.stream.id, b.stream.id) || a.after - b.after);
  const ranges: DeliveredRange[] = [];
  for (const ask of sorted) {
    const last = ranges.at(-1);
    if (last?.stream.id !== ask.stream.id || ask.after > last.upTo) ranges.push(ask);
    else ranges[ranges.length - 1] = { ...last, upTo: Math.max(last.upTo, ask.upTo) };
  }
  return ranges;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function* inQueries(ranges: readonly DeliveredRange[]): Iterable<DeliveredRange[]> {
  let query: DeliveredRange[] = [];
  let numbers = 0;
  for (const range of ranges) {
    const length = range.upTo - range.after;
    if (query.length > 0 && numbers + length > READ_NUMBERS) {
      yield query;
      query = [];
      numbers = 0;
    }
    query.push(range);
    numbers += length;
  }
  if (query.length > 0) yield query;
}

// The limit, which is never reached, keeps each range a lookup of its own in the index: over a young database a plain
// join ran through all messages for each range, and 250 conversations took 1.8 s.
const READ_RANGES = statement<
  [conversationIds: readonly string[], after: readonly number[], upTo: readonly number[]],
  MessageRow
>({
  name: 'read-stretches',
  text: `
    SELECT ${messageColumns('m')}
    FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS s(id, after, up_to), LATERAL (
      SELECT * FROM messages
      WHERE conversation_id = s.id AND sequence > s.after AND sequence <= s.up_to AND status = 'sent'
      ORDER BY sequence LIMIT s.up_to - s.after
    ) m`,
});
