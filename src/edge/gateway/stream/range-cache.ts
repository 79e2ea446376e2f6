import { LRUCache } from 'lru-cache';
import type { CreatedFrame } from '../../../core/frames/frame.ts';
import { toFrame } from '../../../core/frames/publish.ts';
import { withLargeBodies } from '../../../core/resources/large-bodies.ts';
import {
  type BriefRow,
  briefColumns,
  type MessageWithParts,
  messageEvent,
  withParts,
} from '../../../core/resources/message.ts';
import { GatheredReads } from '../../../platform/db/connection/gathered-reads.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { NodeOptions } from '../options.ts';
import type { ConversationStream } from './conversation-stream.ts';

/** Numbers read by one query; larger ranges take several queries, one after the other. */
const READ_NUMBERS = 5_000;

/** A part ends with the frame that brings it to this many bytes. */
const PART_BYTES = 128 * 1_024;

/** One round encodes no more; readers that got nothing ask again. */
const ROUND_BYTES = 16 * 1_024 * 1_024;

/** Milliseconds for which a range is kept for later readers, and the bytes kept in all. */
const RECENT_MS = 2_000;
const RECENT_BYTES = 32 * 1_024 * 1_024;

/** Numbers that a stream has delivered: after `after`, up to and including `upTo`. */
export interface DeliveredRange {
  readonly stream: ConversationStream;
  readonly after: number;
  readonly upTo: number;
}

/** The beginning of a range, or the whole range. */
export interface RangePart {
  /** In the order of their numbers. */
  readonly frames: readonly CreatedFrame[];
  /** The last number that was read; `after` if there was no room. */
  readonly upTo: number;
}

/**
 * The `message.created` frames of ranges that streams have delivered, and thus settled, for readers
 * that catch up. Sockets that come back together miss overlapping ranges, so every message is read
 * and encoded once for all readers of the same moment. It is kept for later readers while nothing
 * in the stream changes. A change that is not delivered yet reaches a reader after its range.
 *
 * A range is read up to PART_BYTES, so that a reader that sends it at once holds nothing while it
 * waits for its socket.
 */
export class RangeCache {
  readonly #options: Pick<NodeOptions, 'database' | 'files'>;
  readonly #reads = new GatheredReads((asks: readonly DeliveredRange[]) => this.#readAll(asks));
  /** The last range read of each stream. */
  readonly #recent = new LRUCache<ConversationStream, Recent>({
    ttl: RECENT_MS,
    maxSize: RECENT_BYTES,
    sizeCalculation: ({ frames }) => frames.reduce((sum, frame) => sum + bytesOf(frame), 1),
  });

  #erasures = 0;

  constructor(options: Pick<NodeOptions, 'database' | 'files'>) {
    this.#options = options;
  }

  read(range: DeliveredRange): Promise<RangePart> {
    const recent = this.#recent.get(range.stream);
    if (recent?.changes === range.stream.changes && recent.after <= range.after) {
      const { taken: frames, upTo } = takePart(recent.frames, range, ({ sequence }) => sequence, teamBytes);
      if (upTo <= recent.upTo) return Promise.resolve({ frames, upTo });
    }
    return this.#reads.ask(range);
  }

  /** Forgets a stream in which a message lost its content. */
  erase(stream: ConversationStream): void {
    this.#recent.delete(stream);
  }

  /** Forgets everything, including what current reads return. */
  eraseAll(): void {
    this.#erasures += 1;
    this.#recent.clear();
  }

  async #readAll(asks: readonly DeliveredRange[]): Promise<RangePart[]> {
    const parts = new Map<DeliveredRange, RangePart>();
    let left = ROUND_BYTES;
    for (const ranges of inQueries(fromAnywhere(merged(asks)))) {
      if (left <= 0) break;
      left -= await this.#readRanges(ranges, parts);
    }
    return asks.map((ask) => parts.get(ask) ?? { frames: [], upTo: ask.after });
  }

  /** Adds the parts of these ranges' asks. Returns the number of bytes encoded. */
  async #readRanges(ranges: readonly MergedRange[], parts: Map<DeliveredRange, RangePart>): Promise<number> {
    const { database, files } = this.#options;
    // Taken before the read, which may not include later changes.
    const changes = ranges.map(({ stream }) => stream.changes);
    const erasures = this.#erasures;
    const rows = await database.query(
      READ_RANGES,
      ranges.map(({ stream }) => stream.id),
      ranges.map(({ after }) => after),
      ranges.map(({ upTo }) => upTo),
    );
    const byStream = Map.groupBy(rows, ({ conversation_id }) => conversation_id);
    const wanted = new Set<BriefRow>();
    const firsts = new Map<DeliveredRange, DeliveredRange>();
    for (const { stream, asks } of ranges) {
      const ofStream = byStream.get(stream.id) ?? [];
      let last: DeliveredRange | undefined;
      for (const ask of asks) {
        const isKnown = last !== undefined && isSame(last, ask);
        firsts.set(ask, isKnown ? firsts.get(last!)! : begin(ofStream, ask, wanted));
        last = ask;
      }
    }
    const whole = await withLargeBodies(database, [...wanted], Number.POSITIVE_INFINITY);
    const messages = await withParts(database, files, whole);
    const encoders = new Map<string, FrameEncoder>();
    for (const [id, ofStream] of Map.groupBy(messages, ({ row }) => row.conversation_id)) {
      encoders.set(id, new FrameEncoder(ofStream));
    }
    for (const [index, { stream, after, asks }] of ranges.entries()) {
      const encoder = encoders.get(stream.id) ?? NOTHING;
      let upTo = after;
      for (const ask of asks) {
        const part = encoder.partOf(firsts.get(ask)!);
        parts.set(ask, part);
        // In the order of their starts, so that the kept range has no gap.
        if (ask.after <= upTo) upTo = Math.max(upTo, part.upTo);
      }
      // A range changed meanwhile cannot serve the next reader, and may contain erased content.
      if (stream.changes !== changes[index] || this.#erasures !== erasures) continue;
      const frames = encoder.between(after, upTo);
      this.#recent.set(stream, { after, upTo, changes: stream.changes, frames });
    }
    return [...encoders.values()].reduce((bytes, encoder) => bytes + encoder.bytes, 0);
  }
}

interface Recent {
  readonly after: number;
  readonly upTo: number;
  /** ConversationStream.changes before it was read. */
  readonly changes: number;
  readonly frames: readonly CreatedFrame[];
}

/** The messages read of one stream, encoded as they are sent. */
class FrameEncoder {
  bytes = 0;
  readonly #messages: readonly MessageWithParts[];
  readonly #frames = new Map<MessageWithParts, CreatedFrame>();
  /** Kept because most readers of a moment miss the same range. */
  #last: { readonly ask: DeliveredRange; readonly part: RangePart } | undefined;

  constructor(messages: readonly MessageWithParts[]) {
    this.#messages = messages;
  }

  partOf(ask: DeliveredRange): RangePart {
    if (this.#last !== undefined && isSame(this.#last.ask, ask)) return this.#last.part;
    const part = this.#read(ask);
    this.#last = { ask, part };
    return part;
  }

  between(after: number, upTo: number): CreatedFrame[] {
    const frames = [...this.#frames.values()].filter(({ sequence }) => sequence > after && sequence <= upTo);
    return frames.sort((a, b) => a.sequence - b.sequence);
  }

  #read(ask: DeliveredRange): RangePart {
    const frameOf = (message: MessageWithParts) => this.#encode(message, ask.stream);
    const sequenceOf = ({ row }: MessageWithParts) => row.sequence ?? 0;
    const { taken, upTo } = takePart(this.#messages, ask, sequenceOf, (message) =>
      teamBytes(frameOf(message)),
    );
    return { frames: taken.map(frameOf), upTo };
  }

  #encode(message: MessageWithParts, { audience }: ConversationStream): CreatedFrame {
    const known = this.#frames.get(message);
    if (known !== undefined) return known;
    const frame = toFrame(messageEvent('message.created', message, audience));
    this.#frames.set(message, frame);
    this.bytes += bytesOf(frame);
    return frame;
  }
}

const NOTHING = new FrameEncoder([]);

/** Adds the rows of a range to `wanted` until their texts fill a part. Returns that range. */
function begin(rows: readonly BriefRow[], range: DeliveredRange, wanted: Set<BriefRow>): DeliveredRange {
  const sizeOf = (row: BriefRow) => row.large_bytes ?? row.body?.length ?? 0;
  const { taken, upTo } = takePart(rows, range, ({ sequence }) => sequence!, sizeOf);
  for (const row of taken) wanted.add(row);
  return { ...range, upTo };
}

/** Takes the items of a range, up to and including the item that fills a part. */
function takePart<Item>(
  items: readonly Item[],
  { after, upTo }: DeliveredRange,
  sequenceOf: (item: Item) => number,
  sizeOf: (item: Item) => number,
): { readonly taken: readonly Item[]; readonly upTo: number } {
  const taken: Item[] = [];
  let bytes = 0;
  for (const item of items) {
    const sequence = sequenceOf(item);
    if (sequence <= after || sequence > upTo) continue;
    taken.push(item);
    bytes += sizeOf(item);
    if (bytes >= PART_BYTES) return { taken, upTo: sequence };
  }
  return { taken, upTo };
}

function teamBytes({ team }: CreatedFrame): number {
  return team?.length ?? 0;
}

/** Returns a frame's bytes, doubled because an older version's form is kept too (forms.ts). */
function bytesOf({ team, customer }: CreatedFrame): number {
  return 2 * ((team?.length ?? 0) + (customer?.length ?? 0));
}

interface MergedRange extends DeliveredRange {
  /** In the order of their starts. */
  readonly asks: readonly DeliveredRange[];
}

/** Returns the same numbers in ranges that do not overlap, ordered by id and number. */
function merged(asks: readonly DeliveredRange[]): MergedRange[] {
  const sorted = [...asks].sort((a, b) => compare(a.stream.id, b.stream.id) || a.after - b.after);
  const ranges: (MergedRange & { upTo: number; asks: DeliveredRange[] })[] = [];
  for (const ask of sorted) {
    const last = ranges.at(-1);
    if (last?.stream.id !== ask.stream.id || ask.after > last.upTo) ranges.push({ ...ask, asks: [ask] });
    else {
      last.upTo = Math.max(last.upTo, ask.upTo);
      last.asks.push(ask);
    }
  }
  return ranges;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function isSame(one: DeliveredRange, other: DeliveredRange): boolean {
  return one.after === other.after && one.upTo === other.upTo;
}

/** Starts at a random item, so that rounds that end early leave out different items. */
function fromAnywhere<T>(items: readonly T[]): T[] {
  const start = Math.floor(Math.random() * items.length);
  return [...items.slice(start), ...items.slice(0, start)];
}

function* inQueries(ranges: readonly MergedRange[]): Iterable<MergedRange[]> {
  let query: MergedRange[] = [];
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

// The limit, which is never reached, keeps each range a lookup of its own in the index: on a young
// database a plain join ran through all messages for each range, and 250 conversations took 1.8 s.
const READ_RANGES = statement<
  [conversationIds: readonly string[], after: readonly number[], upTo: readonly number[]],
  BriefRow
>('read-stretches')`
    SELECT ${briefColumns('m')}
    FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS s(id, after, up_to), LATERAL (
      SELECT * FROM messages
      WHERE conversation_id = s.id AND sequence > s.after AND sequence <= s.up_to AND status = 'sent'
      ORDER BY sequence LIMIT s.up_to - s.after
    ) m`;
