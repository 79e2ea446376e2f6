import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { Disposer } from '../../src/lifecycle.ts';
import { fingerprint } from './checkout.ts';
import { currentLoad, RESULTS, writeResult } from './result-file.ts';
import type { Row } from './row.ts';
import { Unfinished } from './unfinished.ts';
import { type Findings, type Session, TIMINGS, type Work } from './work.ts';

export interface RunOptions {
  readonly full: boolean;
  /** Forgets what an interrupted run has measured. */
  readonly afresh: boolean;
}

export interface RunResult {
  readonly rows: readonly Row[];
  /** Works without figures. */
  readonly failed: readonly string[];
}

/** Runs works one after the other and writes the result of each. Can be interrupted once. */
export class Runner {
  readonly #say = (line: string) => void process.stderr.write(`${line}\n`);
  #running: Disposer | undefined;
  #interrupted = false;

  get interrupted(): boolean {
    return this.#interrupted;
  }

  /** The running work fails without its servers, and the run ends with that error. */
  interrupt(): void {
    if (this.#interrupted) return;
    this.#interrupted = true;
    this.#running?.close().catch((error: unknown) => this.#say(String(error)));
  }

  async run(works: readonly Work[], { full, afresh }: RunOptions): Promise<RunResult> {
    mkdirSync(RESULTS, { recursive: true });
    const kept = Unfinished.open(join(RESULTS, 'unfinished.json'), full && !afresh ? fingerprint() : null);
    if (kept.size > 0) this.#say(`an earlier run was interrupted: ${kept.size} parts are not measured again`);
    const rows: Row[] = [];
    const failed: string[] = [];
    for (const work of works) {
      try {
        rows.push(...(kept.work(work.name) ?? (await this.#measure(work, full, kept))).rows);
      } catch (error) {
        if (this.#interrupted) break;
        this.#say(`${work.name} has no figures: ${inspect(error)}`);
        failed.push(work.name);
      }
    }
    if (full && failed.length === 0 && !this.#interrupted) kept.remove();
    return { rows, failed };
  }

  /** Everything that the work started is gone when this settles, whatever became of it. */
  async #measure(work: Work, full: boolean, kept: Unfinished): Promise<Findings> {
    const startedAt = new Date();
    const loadBefore = currentLoad();
    const disposer = new Disposer();
    this.#running = disposer;
    const parts: Findings[] = [];
    const session: Session = {
      full,
      timing: full ? TIMINGS.full : TIMINGS.short,
      disposer,
      say: this.#say,
      part: async (name, measure) => {
        this.#say(name);
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
    const path = writeResult({ name: work.name, full, startedAt, tookMs, loadBefore, ...findings });
    kept.keepWork(work.name, findings);
    this.#say(`${work.name}: every block is in ${path}`);
    return findings;
  }
}

function merged(parts: readonly Findings[]): Findings {
  return {
    rows: parts.flatMap(({ rows }) => rows),
    comparisons: Object.assign({}, ...parts.map(({ comparisons }) => comparisons)),
    facts: Object.assign({}, ...parts.map(({ facts }) => facts)),
    curves: Object.assign({}, ...parts.map(({ curves }) => curves)),
  };
}
