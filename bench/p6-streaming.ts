import { createHash } from 'node:crypto';
import { build, type Histogram } from 'hdr-histogram-js';
import { WebSocket } from 'ws';
import { compareWith } from './lib/compare.ts';
import { BARE_DIALECT } from './lib/dialects.ts';
import type { Block, Comparison, Side } from './lib/pairs.ts';
import { type BenchDatabase, startPostgres } from './lib/postgres.ts';
import { startMeter } from './lib/processor-time.ts';
import { RawSubscribers } from './lib/raw-subscribers.ts';
import { ServerProcess } from './lib/server-process.ts';
import { spreadOf } from './lib/spread.ts';
import { agesOf, TOKEN_UNITS } from './lib/tokens.ts';
import type { Session, Work } from './lib/work.ts';
import type { Block as Asked } from './servers/replies.ts';

/**
 * Agents' replies while they are written, each with ten readers: as the product publishes them, and
 * with every token published by itself. The readers' texts are compared with Postgres, and the time
 * from a token to its frame with the window in which text gathers.
 */
export const P6: Work = { name: 'p6', title: 'streamed replies', run };

async function run(session: Session): Promise<void> {
  const { disposer } = session;
  const replies = REPLIES[session.scale];
  const { parley } = await startPostgres(disposer, ['parley']);
  const server = disposer.add(
    'replies',
    new ServerProcess({
      entry: 'bench/servers/replies.ts',
      args: [String(replies)],
      env: { DATABASE_URL: parley.url, PARLEY_LOG_LEVEL: 'warn' },
    }),
    (it) => it.stop(),
  );
  const { port } = await server.message<{ port: number }>();
  const readers: TextReader[] = [];
  for (let n = 0; n < replies; n++) {
    const path = `/?c=${n}`;
    const counted = await RawSubscribers.open({
      port,
      count: READERS - 1,
      // A socket is live with its first frame, `caught_up`.
      dialect: { ...BARE_DIALECT, path, open: () => () => 'live' },
    });
    disposer.add('sockets', counted, (it) => it.close());
    const reader = await TextReader.open(`ws://127.0.0.1:${port}${path}`, counted);
    readers.push(disposer.add('a reader', reader, (it) => it.close()));
  }
  const work = `P6 ${replies} replies, ${TOKENS_A_SECOND} tokens/s, ${READERS} readers`;
  await session.part(work, () => {
    const control = sideOf('a frame a token', false, server, readers, parley);
    return compareWith(session, {
      unit: 'tokens a frame',
      ours: sideOf('parley', true, server, readers, parley),
      against: [{ work, control, atLeast: 5, besides: (comparison) => [promptFrames(comparison)] }],
      facts: {
        replies,
        readers: READERS,
        'tokens a second': TOKENS_A_SECOND,
        'window, ms': WINDOW_MS,
      },
    });
  });
}

const REPLIES = { full: 200, short: 200, brief: 10 };
const READERS = 10;
const TOKENS_A_SECOND = 100;
/** The time in which text gathers (docs/realtime.md#streamed-replies). */
const WINDOW_MS = 40;
const MAX_ADDED_MS = 16;
const PATIENCE_MS = 120_000;

function sideOf(
  name: string,
  paced: boolean,
  server: ServerProcess,
  readers: readonly TextReader[],
  database: BenchDatabase,
): Side {
  let seed = 1;
  return {
    name,
    run: async (blockMs): Promise<Block> => {
      const tokens = Math.round((blockMs / 1_000) * TOKENS_A_SECOND);
      const latency = build({ lowestDiscernibleValue: 1, highestTrackableValue: 120_000_000 });
      const used = startMeter({ servers: [server], postgres: database });
      const ends = readers.map((reader) => reader.read(latency));
      seed += 1;
      server.tell({ paced, tokens, gapMs: 1_000 / TOKENS_A_SECOND, seed } satisfies Asked);
      const read = await within(Promise.all(ends), server);
      await Promise.all(readers.map((reader) => reader.othersHaveAll()));
      const all = readers.length * tokens;
      const processor = used(all);
      await requireAlike(read, tokens, database);
      const frames = read.reduce((sum, reader) => sum + reader.frames, 0);
      return {
        figure: all / frames,
        processor,
        notes: {
          token_to_frame_p50_ms: latency.getValueAtPercentile(50) / 1_000,
          token_to_frame_p99_ms: latency.getValueAtPercentile(99) / 1_000,
          frames_a_reader: frames / readers.length,
        },
      };
    },
  };
}

/** Judges the median of the blocks' 99th percentiles, as for every figure. */
function promptFrames({ ours }: Comparison) {
  const p99s = ours.blocks.map(({ notes }) => notes?.token_to_frame_p99_ms ?? Number.POSITIVE_INFINITY);
  const addedMs = spreadOf(p99s).median - WINDOW_MS;
  return {
    text: `p99 ${addedMs.toFixed(1)} ms over the window (≤ ${MAX_ADDED_MS})`,
    met: addedMs <= MAX_ADDED_MS,
  };
}

interface Read {
  readonly id: string;
  readonly body: string;
  /** The text put together out of pieces. */
  readonly text: string;
  readonly seal: { readonly attempt: number; readonly length: number; readonly sha256: string };
  readonly frames: number;
}

/** Requires the same text in pieces, end, seal and row. */
async function requireAlike(
  read: readonly Read[],
  tokens: number,
  { database }: BenchDatabase,
): Promise<void> {
  const rows = await database.kysely
    .selectFrom('messages')
    .select(['id', 'body'])
    .where(
      'id',
      'in',
      read.map(({ id }) => id),
    )
    .where('streaming_state', '=', 'complete')
    .execute();
  const bodies = new Map(rows.map(({ id, body }) => [id, body]));
  for (const { id, body, text, seal } of read) {
    const sha256 = createHash('sha256').update(text).digest('hex');
    const alike = [body, bodies.get(id)].every((one) => one === text);
    const whole = text.length === tokens * TOKEN_UNITS && seal.length === text.length;
    if (!alike || !whole || seal.sha256 !== sha256) throw new Error(`the readers of ${id} have another text`);
  }
}

/** The one of ten readers that reads its frames; the rest count. */
class TextReader {
  readonly #socket: WebSocket;
  readonly #others: RawSubscribers;
  #latency: Histogram | undefined;
  #text = '';
  #frames = 0;
  #allFrames = 0;
  #end: ((read: Read) => void) | undefined;

  static async open(url: string, others: RawSubscribers): Promise<TextReader> {
    const socket = new WebSocket(url);
    const reader = new TextReader(socket, others);
    await new Promise((resolve, reject) => {
      socket.once('message', resolve);
      socket.once('error', reject);
    });
    return reader;
  }

  private constructor(socket: WebSocket, others: RawSubscribers) {
    this.#socket = socket;
    this.#others = others;
    socket.on('message', (bytes: Buffer) => this.#receive(JSON.parse(bytes.toString())));
  }

  /** Reads the next reply, to its end. */
  read(latency: Histogram): Promise<Read> {
    this.#latency = latency;
    this.#text = '';
    this.#frames = 0;
    return new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** Rejects if another reader has not got as many frames. */
  othersHaveAll(): Promise<void> {
    return this.#others.delivered(this.#allFrames * this.#others.count, PATIENCE_MS);
  }

  close(): void {
    this.#socket.terminate();
  }

  #receive({ type, event, data }: { type: string; event: string; data: Record<string, unknown> }): void {
    if (type !== 'event') return;
    this.#frames += 1;
    this.#allFrames += 1;
    if (event === 'message.delta') {
      const text = String(data.text);
      for (const ms of agesOf(text)) this.#latency?.recordValue(Math.max(0, Math.round(ms * 1_000)));
      if (data.offset !== this.#text.length) throw new Error('a piece is missing');
      this.#text += text;
    } else if (event === 'message.updated') {
      const { id, body, stream } = data as { id: string; body: string; stream: Read['seal'] };
      this.#end?.({ id, body, text: this.#text, seal: stream, frames: this.#frames });
    }
  }
}

/**
 * Returns the readers' result once the server is done; rejects if the server ends before, or if the
 * readers do not receive it in time.
 */
async function within<T>(work: Promise<T>, server: ServerProcess): Promise<T> {
  await server.message();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`replies did not end: ${server.stderr}`)), PATIENCE_MS);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
