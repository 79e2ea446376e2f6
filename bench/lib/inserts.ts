import { BODY, CLIENTS, type InsertScripts, insertScripts, type SendSample } from './insert-script.ts';
import type { Block, Side } from './pairs.ts';
import { type PgbenchOptions, type PgbenchRateReport, runPgbench, runPgbenchAtRate } from './pgbench.ts';
import type { BenchDatabase } from './postgres.ts';
import { type ProcessorTime, startMeter } from './processor-time.ts';
import { spreadOf } from './spread.ts';

/**
 * The rows to insert for a send: the message row alone, or with its notification rows, by the
 * faster of two scripts.
 */
export type Script = keyof InsertScripts;

const PGBENCH = { clients: CLIENTS, threads: 2, seed: 7 };

/** A fact of every result that pgbench is in. */
export const PGBENCH_FACT = `${PGBENCH.clients} clients, ${PGBENCH.threads} threads, prepared`;

/** The rows of sends, inserted by pgbench into the tables of the product's database. */
export class Inserts {
  readonly #database: BenchDatabase;
  readonly #scripts: InsertScripts;
  /** Processor time of opening the connections and preparing, apart from the inserts. Seconds. */
  readonly #opening: ProcessorTime;
  #faster: Script = 'statement';

  /** Finds the faster of the scripts for equal work: `say` gets the rates of both. */
  static async open(
    database: BenchDatabase,
    sample: SendSample,
    options: { readonly recipients: number; readonly trialMs: number; readonly say: (line: string) => void },
  ): Promise<Inserts> {
    if (!sample.message.some(({ name, value }) => name === 'body' && value === BODY))
      throw new Error('the sample is no message of the bench');
    const opening = await measureOpening(database);
    const inserts = new Inserts(database, insertScripts(sample, options.recipients), opening);
    await inserts.#findFaster(options.trialMs, options.say);
    return inserts;
  }

  private constructor(database: BenchDatabase, scripts: InsertScripts, opening: ProcessorTime) {
    this.#database = database;
    this.#scripts = scripts;
    this.#opening = opening;
  }

  get faster(): Script {
    return this.#faster;
  }

  /** Inserts the message row alone. */
  get single(): Side {
    return { name: 'pgbench, 1 row', run: (blockMs) => this.#run('single', blockMs) };
  }

  /** Inserts the message row and its notification rows. */
  get equal(): Side {
    return { name: 'equal work', run: (blockMs) => this.#run(this.#faster, blockMs) };
  }

  /** Does equal work at a fixed rate. */
  async atRate(
    ratePerSecond: number,
    durationMs: number,
  ): Promise<PgbenchRateReport & { readonly processor: ProcessorTime }> {
    const used = startMeter({ postgres: this.#database });
    const report = await runPgbenchAtRate(this.#options(this.#faster, durationMs), ratePerSecond);
    return { ...report, processor: this.#withoutOpening(used, report.transactions) };
  }

  async #run(script: Script, durationMs: number): Promise<Block> {
    const used = startMeter({ postgres: this.#database });
    const report = await runPgbench(this.#options(script, durationMs));
    return {
      figure: report.transactionsPerSecond,
      processor: this.#withoutOpening(used, report.transactions),
      notes: { latency_ms: report.latencyMs },
    };
  }

  #options(script: Script, durationMs: number): PgbenchOptions {
    lastBlock += 1;
    return {
      url: this.#database.url,
      durationMs,
      script: this.#scripts[script],
      variables: { n: lastBlock * NUMBERS_A_BLOCK },
      ...PGBENCH,
    };
  }

  #withoutOpening(used: (operations: number) => ProcessorTime, transactions: number): ProcessorTime {
    const { postgres = 0, generator = 0 } = used(transactions);
    const { postgres: opening = 0, generator: ownOpening = 0 } = this.#opening;
    return {
      postgres: Math.max(0, postgres - opening / transactions),
      generator: Math.max(0, generator - ownOpening / transactions),
    };
  }

  async #findFaster(trialMs: number, say: (line: string) => void): Promise<void> {
    const rates: { pipeline: number[]; statement: number[] } = { pipeline: [], statement: [] };
    for (const script of ['pipeline', 'statement', 'statement', 'pipeline'] as const) {
      rates[script].push((await this.#run(script, trialMs)).figure);
    }
    const medians = {
      pipeline: spreadOf(rates.pipeline).median,
      statement: spreadOf(rates.statement).median,
    };
    this.#faster = medians.pipeline > medians.statement ? 'pipeline' : 'statement';
    say(
      `  equal work: ${Math.round(medians.pipeline)}/s as a pipeline, ${Math.round(medians.statement)}/s as one statement`,
    );
  }
}

/** Returns microseconds for the whole opening. */
async function measureOpening(postgres: BenchDatabase): Promise<ProcessorTime> {
  const used = startMeter({ postgres });
  const script = '\\set unused 1\nSELECT 1;\n';
  await runPgbench({ url: postgres.url, script, durationMs: 0, transactions: 1, ...PGBENCH });
  return used(1);
}

/** One counter for all scripts, which share their tables. */
let lastBlock = 0;
/** More numbers than a client uses in a block: the next block starts after them. */
const NUMBERS_A_BLOCK = 1_000_000;
