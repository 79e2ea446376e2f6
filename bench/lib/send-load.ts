import { GENERATORS, type GeneratorName } from './generators.ts';
import { postRequest } from './http-connections.ts';
import { BODY } from './insert-script.ts';
import type { OpenLoopReport } from './open-loop.ts';
import type { Block, Side } from './pairs.ts';
import type { BenchDatabase } from './postgres.ts';
import { type ProcessorTime, startMeter } from './processor-time.ts';
import type { Flushes } from './product.ts';
import { requestAtRate } from './rate-loop.ts';
import type { RawSubscribers } from './raw-subscribers.ts';
import { UNIQUE } from './unique-number.ts';

/** A server that takes sends of one kind, ours or a control, and the means to see their effects. */
export interface SendTarget {
  /** The name in the table and the results. */
  readonly name: string;
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Returns the path for the message or connection `index`. */
  readonly path: (index: number) => string;
  /** The number of frames that each send causes. */
  readonly frames: number;
  /** The sockets that get them. */
  readonly subscribers: readonly RawSubscribers[];
  /** The servers charged for the sends. */
  readonly servers: readonly { readonly pid: number }[];
  readonly database: BenchDatabase;
  /**
   * Resolves when every effect of the sends is complete, with notes on the remaining work. Default:
   * a send has no effects after its answer but its frames.
   */
  readonly complete?: () => Promise<Notes>;
  /** Whether a rate counts until all effects are complete. */
  readonly countsEffects?: boolean;
  /** Returns the counters of its flushes so far. */
  readonly flushes?: () => Promise<Flushes>;
}

type Notes = Readonly<Record<string, number>>;

/** The results of sends at a fixed rate. */
export interface RateReport extends OpenLoopReport {
  /** Until all effects of the sends were complete. */
  readonly processor: ProcessorTime;
}

/** Connections for sends at a rate; P2 uses fewer and more. */
export const CONNECTIONS = 64;

/** Sends to one server; a block counts only when everything acknowledged has arrived. */
export class SendLoad {
  readonly target: SendTarget;
  #sent = 0;

  constructor(target: SendTarget) {
    this.target = target;
  }

  /** Sends as many as `connections` get through, each asking again as soon as it is answered. */
  side(connections: number, generator: GeneratorName = 'raw'): Side {
    return { name: this.target.name, run: (blockMs) => this.#saturate(connections, generator, blockMs) };
  }

  /**
   * Sends at gaps that are drawn by `seed` and do not depend on answers; sends wait in line while
   * all connections are busy. Rejects when a send fails.
   */
  async sendAtRate(ratePerSecond: number, durationMs: number, seed: number): Promise<RateReport> {
    const { port, headers, path, servers, database: postgres, complete } = this.target;
    const request = () => {
      this.#sent += 1;
      const id = `open-${String(this.#sent).padStart(UNIQUE.length, '0')}`;
      return postRequest(path(this.#sent), headers, JSON.stringify({ body: BODY, client_message_id: id }));
    };
    const used = startMeter({ servers, postgres });
    const report = await this.#delivering(async () => {
      const connections = { port, size: CONNECTIONS };
      const report = await requestAtRate({ ...connections, ratePerSecond, durationMs, seed, request });
      return { ...report, answered: report.sent };
    });
    await complete?.();
    return { ...report, processor: used(report.answered) };
  }

  async #saturate(connections: number, generator: GeneratorName, durationMs: number): Promise<Block> {
    const { port, headers, path, servers, database: postgres, ...target } = this.target;
    const { answered: _, ...block } = await this.#delivering(async () => {
      const flushesBefore = await target.flushes?.();
      const used = startMeter({ servers, postgres });
      const startMs = performance.now();
      const report = await GENERATORS[generator]({
        port,
        connections,
        durationMs,
        headers,
        path,
        body: JSON.stringify({ body: BODY, client_message_id: `run-${UNIQUE}` }),
      });
      const left = await target.complete?.();
      const tookMs = performance.now() - startMs;
      const processor = used(report.answered);
      return {
        answered: report.answered,
        operations: report.answered,
        figure: target.countsEffects ? (report.answered * 1_000) / tookMs : report.perSecond,
        processor,
        notes: {
          answered_per_second: report.perSecond,
          p50_ms: report.p50Ms,
          p99_ms: report.p99Ms,
          ...(flushesBefore === undefined ? {} : meanFlush(flushesBefore, await target.flushes!())),
          ...left,
        },
      };
    });
    return block;
  }

  /** Rejects unless everything that `work` sent was also delivered, as a figure requires. */
  async #delivering<T extends { readonly answered: number }>(work: () => Promise<T>): Promise<T> {
    const before = this.#deliveries;
    const done = await work();
    await this.#requireFrames(before + done.answered * this.target.frames);
    return done;
  }

  get #deliveries(): number {
    return this.target.subscribers.reduce((sum, { deliveries }) => sum + deliveries, 0);
  }

  async #requireFrames(atLeast: number): Promise<void> {
    const { name, subscribers } = this.target;
    const deadlineMs = performance.now() + 10_000;
    while (this.#deliveries < atLeast) {
      if (performance.now() > deadlineMs) {
        const missing = atLeast - this.#deliveries;
        throw new Error(`${missing} frames of messages that ${name} acknowledged are missing`);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    if (subscribers.some(({ lost }) => lost > 0)) throw new Error(`a reader of ${name} lost its socket`);
  }
}

function meanFlush(before: Flushes, after: Flushes): Notes {
  const flushes = after.count - before.count;
  return {
    rows_a_flush: Math.round((after.rows - before.rows) / flushes),
    ms_a_flush: Math.round(((after.seconds - before.seconds) * 10_000) / flushes) / 10,
  };
}
