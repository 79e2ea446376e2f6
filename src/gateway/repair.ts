import type { Downloads } from '../attachments/storage.ts';
import type { Database } from '../db/database.ts';
import type { Engine } from '../engine/engine.ts';
import { Loop } from '../lifecycle.ts';
import type { Logger } from '../log.ts';
import { READ_HEADS } from '../messages/insert-messages.ts';
import { readChanges } from './changes.ts';
import type { ConversationStream } from './conversation-stream.ts';
import type { Cursors } from './cursors.ts';
import type { Broadcast } from './reader.ts';
import type { Streams } from './streams.ts';

export interface RepairOptions {
  readonly database: Database;
  readonly files: Downloads;
  readonly engine: Engine;
  readonly streams: Streams;
  readonly cursors: Cursors;
  readonly broadcast: Broadcast;
  readonly log: Logger;
}

/** Streams asked about in one query. */
const CHUNK = 500;

/**
 * What a broken link lost, this node's readers get from Postgres, in place (design.md section 6): for
 * every stream that is open here, the messages by number and whatever else changed since the link was
 * last known whole. Tried again until a round has gone through.
 */
export class Repair {
  readonly #options: RepairOptions;
  readonly #loop: Loop;
  readonly #unregister: () => void;
  /** The transaction from which on something may be missing; undefined while nothing is. */
  #since: string | undefined;

  constructor(options: RepairOptions) {
    this.#options = options;
    this.#loop = new Loop({
      intervalMs: 1_000,
      run: () => this.#repair(),
      onError: (error) => options.log.warn({ err: error }, 'repair failed, trying again'),
    });
    this.#unregister = options.engine.onRecovered((healthySinceMs) => {
      this.#since ??= options.cursors.xidBefore(healthySinceMs);
      this.#loop.wake();
    });
  }

  close(): Promise<void> {
    this.#unregister();
    return this.#loop.close();
  }

  async #repair(): Promise<void> {
    const since = this.#since;
    if (since === undefined) return;
    // Taken before the work: a link that breaks and returns meanwhile asks for a round of its own.
    this.#since = undefined;
    try {
      await this.#repairSince(since);
    } catch (error) {
      this.#since = since;
      throw error;
    }
    this.#options.log.info('repaired the streams of this node');
  }

  async #repairSince(since: string): Promise<void> {
    for (const streams of chunks([...this.#options.streams.open()]))
      await this.#repairStreams(streams, since);
    for (const actorIds of chunks([...this.#options.streams.feeds()])) {
      await this.#repairFeeds(actorIds, since);
    }
  }

  async #repairStreams(streams: readonly ConversationStream[], since: string): Promise<void> {
    const ids = streams.map(({ id }) => id);
    const byId = new Map(streams.map((stream) => [stream.id, stream]));
    const heads = await this.#options.database.query<{ conversation_id: string; head: number }>(READ_HEADS, [
      ids,
    ]);
    await Promise.all(heads.map(({ conversation_id, head }) => byId.get(conversation_id)!.fill(head)));

    const { frames } = await readChanges(this.#options, { conversationIds: ids, actorIds: [] }, since);
    for (const [id, ofStream] of frames) for (const frame of ofStream) byId.get(id)!.receive(frame);
  }

  async #repairFeeds(actorIds: readonly string[], since: string): Promise<void> {
    const { broadcast } = this.#options;
    const { frames } = await readChanges(this.#options, { conversationIds: [], actorIds }, since);
    for (const frame of [...frames.values()].flat()) broadcast('durable', frame);
  }
}

function* chunks<T>(items: readonly T[]): Iterable<readonly T[]> {
  for (let start = 0; start < items.length; start += CHUNK) yield items.slice(start, start + CHUNK);
}
