import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ArchiveContent, type ArchiveReader, type OpenOptions, UnreadableArchive } from '../reader.ts';
import { type ArchiveRecord, type ArchiveSource, type Counts, noCounts } from '../record.ts';

/** A question to the process of reader-child.ts, which gives each one answer. */
export type ToReader =
  | ({ readonly kind: 'open'; readonly source: ArchiveSource; readonly path: string } & ReaderSettings)
  /** Begins a walk: its records are taken by `next`. */
  | { readonly kind: 'walk' }
  | { readonly kind: 'next' }
  /** Asks for the size of a file. */
  | { readonly kind: 'size'; readonly entry: string }
  | { readonly kind: 'begin'; readonly entry: string }
  /** Asks for the next bytes of a file. */
  | { readonly kind: 'piece'; readonly file: number }
  | { readonly kind: 'leave'; readonly file: number };

type ReaderSettings = Pick<OpenOptions, 'scratch' | 'limits'>;

/** The answers, by the kind of the question. */
export interface FromReader {
  readonly open: ArchiveSource;
  readonly walk: null;
  readonly next: Batch;
  /** Null if there is no such file. */
  readonly size: number | null;
  /** The number of the file until `leave`. */
  readonly begin: number;
  /** Null behind the last one. */
  readonly piece: Uint8Array | null;
  readonly leave: null;
}

/** Some records in their order, and the progress of the walk behind them. */
export interface Batch {
  readonly records: readonly ArchiveRecord[];
  readonly found: Counts;
  readonly progress: { readonly done: number; readonly total: number };
  readonly isLast: boolean;
}

export interface Question {
  readonly id: number;
  readonly asked: ToReader;
}

/** An answer or an error; without an id a sign of life. */
export type Reply =
  | { readonly id: number; readonly answer: FromReader[ToReader['kind']] }
  | { readonly id: number; readonly error: ReplyError }
  | { readonly id: null };

export interface ReplyError {
  readonly message: string;
  /** Why an archive as a whole is unreadable. */
  readonly reason?: UnreadableArchive['reason'];
  readonly code?: string;
}

export interface ReaderProcessOptions extends OpenOptions {
  /** Further flags of Node for the process, such as a module that is loaded first. */
  readonly execArgv?: readonly string[];
  /** MB of JavaScript values that the process may hold. */
  readonly heapMb?: number;
  /** Milliseconds without a sign of life after which the process is ended. */
  readonly silentMs?: number;
}

/**
 * Opens an archive in a process of its own, so that nothing in it stops the node or fills its
 * memory: lists of millions of files, documents of 64 MiB. Rejects like `openArchive`, and with
 * `UnreadableArchive` where reading takes more memory or time than the limits of the process.
 */
export async function openInProcess(
  source: ArchiveSource,
  path: string,
  { execArgv = [], heapMb = HEAP_MB, silentMs = SILENT_MS, signal, ...settings }: ReaderProcessOptions,
): Promise<ArchiveReader> {
  signal?.throwIfAborted();
  const process = new ReaderProcess(execArgv, { heapMb, silentMs }, signal);
  try {
    return new ProcessReader(await process.ask({ kind: 'open', source, path, ...settings }), process);
  } catch (error) {
    await process.close();
    throw error;
  }
}

/** Room for the largest document of the limits, as text and then as values. */
const HEAP_MB = 512;
/** A document of 64 MiB is read in some seconds; a busy machine may take ten times that. */
const SILENT_MS = 120_000;

interface Waiting {
  readonly resolve: (answer: FromReader[ToReader['kind']]) => void;
  readonly reject: (reason: unknown) => void;
}

type ProcessLimits = Required<Pick<ReaderProcessOptions, 'heapMb' | 'silentMs'>>;

class ReaderProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #waiting = new Map<number, Waiting>();
  readonly #limits: ProcessLimits;
  #asked = 0;
  #silentTicks = 0;
  /** Why there are no more answers. */
  #end: unknown;

  constructor(execArgv: readonly string[], limits: ProcessLimits, signal: AbortSignal | undefined) {
    const { heapMb, silentMs } = limits;
    this.#limits = limits;
    this.#child = fork(CHILD, [], {
      execArgv: [
        `--max-old-space-size=${heapMb}`,
        '--max-semi-space-size=8',
        '--v8-pool-size=1',
        ...execArgv,
      ],
      // The process that reads foreign bytes gets no secrets.
      env: {},
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.#ended = new Promise((resolve) => {
      this.#child.once('error', (error) => this.#stop(error, resolve));
      this.#child.once('exit', (code, by) => this.#stop(this.#reasonOf(code, by), resolve));
    });
    this.#child.on('message', (reply: Reply) => this.#take(reply));
    const watch = setInterval(() => this.#tick(), silentMs / TICKS).unref();
    const abort = () => this.#kill(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    void this.#ended.then(() => {
      clearInterval(watch);
      signal?.removeEventListener('abort', abort);
    });
  }

  ask<Kind extends ToReader['kind']>(
    asked: Extract<ToReader, { readonly kind: Kind }>,
  ): Promise<FromReader[Kind]> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    const id = ++this.#asked;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as Waiting['resolve'], reject });
      // An error of the channel is followed by the end of the process.
      this.#child.send({ id, asked } satisfies Question, () => undefined);
    });
  }

  /** Ends the process, which removes nothing: its scratch directory belongs to the caller. */
  async close(): Promise<void> {
    this.#kill(new Error('the archive is closed'));
    await this.#ended;
  }

  #kill(reason: unknown): void {
    this.#end ??= reason;
    this.#child.kill('SIGKILL');
  }

  #take(reply: Reply): void {
    this.#silentTicks = 0;
    if (reply.id === null) return;
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if ('answer' in reply) waiting?.resolve(reply.answer);
    else waiting?.reject(toError(reply.error));
  }

  /** Counts ticks instead of time, because a machine may have been asleep. */
  #tick(): void {
    this.#silentTicks += 1;
    if (this.#silentTicks <= TICKS) return;
    const seconds = Math.round(this.#limits.silentMs / 1_000);
    this.#kill(
      new UnreadableArchive('unsafe', `A part of the archive takes longer than ${seconds} s to read.`),
    );
  }

  #reasonOf(code: number | null, by: NodeJS.Signals | null): unknown {
    // Node aborts when its heap is full.
    if (by === 'SIGABRT' || code === ABORTED) {
      const { heapMb } = this.#limits;
      return new UnreadableArchive('unsafe', `Reading the archive takes more than ${heapMb} MB of memory.`);
    }
    return new Error(`the process that read an archive ended with ${by ?? code}`);
  }

  #stop(reason: unknown, ended: () => void): void {
    this.#end ??= reason;
    for (const { reject } of this.#waiting.values()) reject(this.#end);
    this.#waiting.clear();
    ended();
  }
}

/** Beside this file, also where both are built (bin/build/archives.ts). */
const CHILD = fileURLToPath(new URL(`./reader-child${extname(import.meta.url)}`, import.meta.url));
const TICKS = 10;
const ABORTED = 134;

class ProcessReader implements ArchiveReader {
  readonly source: ArchiveSource;
  readonly #process: ReaderProcess;
  #found: Counts = noCounts();
  #progress: Batch['progress'] = { done: 0, total: 0 };

  constructor(source: ArchiveSource, process: ReaderProcess) {
    this.source = source;
    this.#process = process;
  }

  async *records(): AsyncGenerator<ArchiveRecord> {
    await this.#process.ask({ kind: 'walk' });
    for (;;) {
      const { records, found, progress, isLast } = await this.#process.ask({ kind: 'next' });
      this.#found = found;
      this.#progress = progress;
      yield* records;
      if (isLast) return;
    }
  }

  found(): Counts {
    return this.#found;
  }

  progress(): Batch['progress'] {
    return this.#progress;
  }

  async openFile(entry: string): Promise<ArchiveContent | undefined> {
    const size = await this.#process.ask({ kind: 'size', entry });
    return size === null ? undefined : { size, read: () => this.#read(entry) };
  }

  async *#read(entry: string): AsyncGenerator<Buffer> {
    const file = await this.#process.ask({ kind: 'begin', entry });
    try {
      for (;;) {
        const piece = await this.#process.ask({ kind: 'piece', file });
        if (piece === null) return;
        yield Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
      }
    } finally {
      // The process may have ended, which is the reader's error already.
      await this.#process.ask({ kind: 'leave', file }).catch(() => undefined);
    }
  }

  close(): Promise<void> {
    return this.#process.close();
  }
}

function toError({ message, reason, code }: ReplyError): Error {
  if (reason !== undefined) return new UnreadableArchive(reason, message);
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}
