import { earlier, type Since } from '../../../core/events/event-source.ts';
import type { CommittedFrame } from '../../../core/frames/frame.ts';
import { readHeads } from '../../../core/messages/timeline/timeline-store.ts';
import type { Missed } from '../../../platform/engine/engine.ts';
import { Loop } from '../../../platform/lifecycle.ts';
import { readChanges } from '../changes/changes.ts';
import type { Cursors } from '../changes/cursors.ts';
import type { NodeOptions } from '../options.ts';
import type { ConversationStream } from '../stream/conversation-stream.ts';
import type { Broadcast } from '../stream/reader.ts';
import type { Streams } from '../stream/streams.ts';

export interface RepairOptions
  extends Pick<NodeOptions, 'database' | 'files' | 'engine' | 'metrics' | 'log'> {
  readonly streams: Streams;
  readonly cursors: Cursors;
  readonly broadcast: Broadcast;
}

/** Streams read by one query. */
const CHUNK = 500;

/**
 * Reads from Postgres what was lost between nodes, and delivers it to this node's readers. For
 * every affected stream that is open here, it reads the messages by number and all other changes
 * since the last moment at which nothing was missing. A failed repair is tried again until it
 * succeeds; until then no cursor passes the loss. While a link is away, a round runs every second,
 * reaches back by ten, and leaves out changes that the previous round delivered.
 */
export class Repair {
  readonly #options: RepairOptions;
  readonly #loop: Loop;
  readonly #unregister: () => void;
  #due: Loss[] = [];
  /** The changes that the last round delivered. */
  #delivered: ReadonlySet<string> = new Set();

  constructor(options: RepairOptions) {
    this.#options = options;
    this.#loop = new Loop({
      intervalMs: 1_000,
      run: () => this.#repair(),
      onError: (error) => options.log.warn({ err: error }, 'repair failed, trying again'),
    });
    this.#unregister = options.engine.onMissed((missed) => this.#missed(missed));
  }

  close(): Promise<void> {
    this.#unregister();
    return this.#loop.close();
  }

  #missed({ reason, frames, channels, sinceMs }: Missed): void {
    const { cursors, metrics } = this.#options;
    metrics.engineLostFrames.inc(frames);
    metrics.repairs.inc({ reason });
    this.#due.push({ channels, since: cursors.before(sinceMs), release: cursors.hold(sinceMs) });
    this.#loop.wake();
  }

  async #repair(): Promise<void> {
    // Read first, because frames lost during the work need another round.
    const losses = this.#due;
    if (losses.length === 0) return;
    this.#due = [];
    try {
      await this.#repairAll(losses);
    } catch (error) {
      this.#due = [...losses, ...this.#due];
      throw error;
    }
    for (const { release } of losses) release();
  }

  async #repairAll(losses: readonly Loss[]): Promise<void> {
    const { engine, streams, metrics, log } = this.#options;
    const since = losses.map((loss) => loss.since).reduce(earlier);
    const channels = losses.some((loss) => loss.channels === undefined)
      ? undefined
      : new Set(losses.flatMap((loss) => [...loss.channels!]));
    const conversations = await streams.open(channels);
    const actorIds = streams.feeds(channels);
    const delivered = new Set<string>();
    for (const some of chunks(conversations)) await this.#repairStreams(some, since, delivered);
    for (const some of chunks(actorIds)) await this.#repairFeeds(some, since, delivered);
    this.#delivered = delivered;
    metrics.repairedStreams.inc(conversations.length + actorIds.length);
    // This line comes every second while a link is away.
    log[engine.inDoubt ? 'debug' : 'info'](
      { conversations: conversations.length, actors: actorIds.length },
      'repaired streams of this node',
    );
  }

  async #repairStreams(
    streams: readonly ConversationStream[],
    since: Since,
    delivered: Set<string>,
  ): Promise<void> {
    const ids = streams.map(({ id }) => id);
    const byId = new Map(streams.map((stream) => [stream.id, stream]));
    const heads = await readHeads(this.#options.database, ids);
    await Promise.all([...heads].map(([id, head]) => byId.get(id)!.fill(head)));

    const { frames } = await readChanges(this.#options, { conversationIds: ids, actorIds: [] }, since);
    for (const [id, ofStream] of frames) {
      for (const frame of this.#news(ofStream, delivered)) byId.get(id)!.receive(frame);
    }
  }

  async #repairFeeds(actorIds: readonly string[], since: Since, delivered: Set<string>): Promise<void> {
    const { frames } = await readChanges(this.#options, { conversationIds: [], actorIds }, since);
    const { broadcast } = this.#options;
    for (const frame of this.#news([...frames.values()].flat(), delivered)) broadcast('durable', frame);
  }

  /** Returns the frames that the last round has not delivered, and adds all to `delivered`. */
  #news(frames: readonly CommittedFrame[], delivered: Set<string>): CommittedFrame[] {
    return frames.filter((frame) => {
      const key = keyOf(frame);
      delivered.add(key);
      return !this.#delivered.has(key);
    });
  }
}

/** A loss on these channels, or on any if undefined, since that transaction. */
interface Loss {
  readonly channels: ReadonlySet<string> | undefined;
  readonly since: Since;
  readonly release: () => void;
}

function* chunks<T>(items: readonly T[]): Iterable<readonly T[]> {
  for (let start = 0; start < items.length; start += CHUNK) yield items.slice(start, start + CHUNK);
}

/**
 * Identifies a change by its event, which stands at the beginning of the bytes, and its version.
 */
function keyOf({ stream, resource, updatedAtUs, team, customer }: CommittedFrame): string {
  const event = (team ?? customer)?.toString('latin1', 0, EVENT_BYTES);
  return `${stream} ${resource} ${updatedAtUs} ${event}`;
}

const EVENT_BYTES = 80;
