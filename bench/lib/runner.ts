import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { Disposer } from '../../src/platform/lifecycle.ts';
import { currentLoad, writeResult } from './result-file.ts';
import type { Row } from './row.ts';
import { Unfinished } from './unfinished.ts';
import { type Findings, type Scale, type Session, TIMINGS, type Work } from './work.ts';

export interface RunOptions {
  readonly scale: Scale;
  /** Forgets the results of an interrupted full run. */
  readonly afresh: boolean;
}

export interface RunResult {
  readonly rows: readonly Row[];
  /** Works without figures. */
  readonly failed: readonly string[];
}

export interface RunnerOptions {
  /** The directory of results. */
  readonly results: string;
  /** The mark of the measured code; null: unknown. */
  readonly fingerprint: string | null;
  readonly say: (line: string) => void;
}

/** Runs works one after the other and writes the result of each. Can be interrupted once. */
export class Runner {
  readonly #options: RunnerOptions;
  #running: Disposer | undefined;
  #interrupted = false;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  get interrupted(): boolean {
    return this.#interrupted;
  }

  /** Closes the servers of the running work, which fails and ends the run with that error. */
  interrupt(): void {
    if (this.#interrupted) return;
    this.#interrupted = true;
    this.#running?.close().catch((error: unknown) => this.#options.say(String(error)));
  }

  async run(works: readonly Work[], { scale, afresh }: RunOptions): Promise<RunResult> {
    const full = scale === 'full';
    const { results, fingerprint, say } = this.#options;
    mkdirSync(results, { recursive: true });
    const path = join(results, 'unfinished.json');
    if (afresh) rmSync(path, { force: true });
    const kept = Unfinished.open(path, full ? fingerprint : null);
    if (kept.size > 0) say(`an earlier run was interrupted: ${kept.size} parts are not measured again`);
    const rows: Row[] = [];
    const failed: string[] = [];
    for (const work of works) {
      try {
        rows.push(...(kept.work(work.name) ?? (await this.#measure(work, scale, kept))).rows);
      } catch (error) {
        if (this.#interrupted) break;
        say(`${work.name} has no figures: ${inspect(error)}`);
        failed.push(work.name);
      }
    }
    if (full && failed.length === 0 && !this.#interrupted) kept.forget(works.map(({ name }) => name));
    return { rows, failed };
  }

  /** Measures a work. When this settles, everything that the work started has ended. */
  async #measure(work: Work, scale: Scale, kept: Unfinished): Promise<Findings> {
    const { results, say } = this.#options;
    const full = scale === 'full';
    const startedAt = new Date();
    const loadBefore = currentLoad();
    const disposer = new Disposer();
    this.#running = disposer;
    const parts: Findings[] = [];
    const session: Session = {
      scale,
      timing: TIMINGS[scale],
      disposer,
      say,
      part: async (name, measure) => {
        say(name);
        const known = kept.part(work.name, name);
        const findings = known ?? (await measure());
        if (known === undefined) kept.keepPart(work.name, name, findings);
        parts.push(findings);
        return findings;
      },
    };
    try {
      await work.run(session);
    } finally {
      await disposer.close();
    }
    const findings = merged(parts);
    const tookMs = Date.now() - startedAt.getTime();
    const path = writeResult(results, { name: work.name, full, startedAt, tookMs, loadBefore, ...findings });
    kept.keepWork(work.name, findings);
    say(`${work.name}: every block is in ${path}`);
    return findings;
  }
}

function merged(parts: readonly Findings[]): Findings {
  return {
    rows: parts.flatMap(({ rows }) => rows),
    comparisons: Object.assign({}, ...parts.map(({ comparisons }) => comparisons)),
    facts: Object.assign({}, ...parts.map(({ facts }) => facts)),
    curves: Object.assign({}, ...parts.map(({ curves }) => curves)),
    bars: Object.assign({}, ...parts.map(({ bars }) => bars)),
  };
}
