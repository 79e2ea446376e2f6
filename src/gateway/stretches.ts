import type { Downloads } from '../attachments/storage.ts';
import { messageEvent } from '../conversations/message-present.ts';
import { type MessageRow, messageColumns, withParts } from '../conversations/message-rows.ts';
import type { Database } from '../db/database.ts';
import { GatheredReads } from '../db/gathered-reads.ts';
import type { Frame } from '../engine/frame.ts';
import { toFrame } from '../engine/publish.ts';
import type { ConversationStream } from './conversation-stream.ts';

/** Numbers read by one query; more are read one query after the other. */
const READ_NUMBERS = 5_000;

/** A stretch that a stream has delivered: after `after`, up to and including `upTo`. */
export interface DeliveredStretch {
  readonly stream: ConversationStream;
  readonly after: number;
  readonly upTo: number;
}

/**
 * The `message.created` of stretches that streams have delivered, which are settled therefore, for whoever
 * catches up. When a node's sockets come back at once, what they miss overlaps: every message is read and
 * encoded once for all who ask in the same moment.
 */
export class Stretches {
  readonly #options: { readonly database: Database; readonly files: Downloads };
  readonly #reads = new GatheredReads((asks: readonly DeliveredStretch[]) => this.#readAll(asks));

  constructor(options: { readonly database: Database; readonly files: Downloads }) {
    this.#options = options;
  }

  /** In the order of their numbers. */
  read(stretch: DeliveredStretch): Promise<readonly Frame[]> {
    return this.#reads.ask(stretch);
  }

  async #readAll(asks: readonly DeliveredStretch[]): Promise<Frame[][]> {
    // By id: a stream that was closed and opened again reads the same rows.
    const frames = new Map(asks.map(({ stream }): [string, Frame[]] => [stream.id, []]));
    const audiences = new Map(asks.map(({ stream }) => [stream.id, stream.audience]));
    for (const stretches of inQueries(merged(asks))) {
      for (const message of await this.#readStretches(stretches)) {
        const id = message.row.conversation_id;
        frames.get(id)!.push(toFrame(messageEvent('message.created', message, audiences.get(id)!)));
      }
    }
    return asks.map(({ stream, after, upTo }) =>
      frames.get(stream.id)!.filter(({ sequence }) => sequence > after && sequence <= upTo),
    );
  }

  async #readStretches(stretches: readonly DeliveredStretch[]) {
    const { database, files } = this.#options;
    const rows = await database.query<MessageRow>(READ_STRETCHES, [
      stretches.map(({ stream }) => stream.id),
      stretches.map(({ after }) => after),
      stretches.map(({ upTo }) => upTo),
    ]);
    return withParts(database, files, rows);
  }
}

/** The same numbers in stretches that do not overlap, in the order of ids and numbers. */
function merged(asks: readonly DeliveredStretch[]): DeliveredStretch[] {
  const sorted = [...asks].sort((a, b) => compare(a.stream.id, b.stream.id) || a.after - b.after);
  const stretches: DeliveredStretch[] = [];
  for (const ask of sorted) {
    const last = stretches.at(-1);
    if (last?.stream.id !== ask.stream.id || ask.after > last.upTo) stretches.push(ask);
    else stretches[stretches.length - 1] = { ...last, upTo: Math.max(last.upTo, ask.upTo) };
  }
  return stretches;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function* inQueries(stretches: readonly DeliveredStretch[]): Iterable<DeliveredStretch[]> {
  let query: DeliveredStretch[] = [];
  let numbers = 0;
  for (const stretch of stretches) {
    const length = stretch.upTo - stretch.after;
    if (query.length > 0 && numbers + length > READ_NUMBERS) {
      yield query;
      query = [];
      numbers = 0;
    }
    query.push(stretch);
    numbers += length;
  }
  if (query.length > 0) yield query;
}

// The limit, which is never reached, keeps each stretch a look into the index of its own: over a young database a
// plain join ran through all messages for each, 250 conversations took 1.8 s.
const READ_STRETCHES = {
  name: 'read-stretches',
  text: `
    SELECT ${messageColumns('m')}
    FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS s(id, after, up_to), LATERAL (
      SELECT * FROM messages
      WHERE conversation_id = s.id AND sequence > s.after AND sequence <= s.up_to AND status = 'sent'
      ORDER BY sequence LIMIT s.up_to - s.after
    ) m`,
};
