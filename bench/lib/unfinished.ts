import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Findings } from './work.ts';

/**
 * The parts that a full run has measured so far, by work and name, and the works whose results are
 * written.
 */
interface Content {
  readonly fingerprint: string;
  readonly parts: Record<string, Findings>;
  readonly finished: Record<string, Findings>;
}

/**
 * The results of an interrupted full run: kept in a file after each part, so that the next full run
 * of the same code goes on where it ended. Without a fingerprint (outside git) it keeps no file.
 */
export class Unfinished {
  readonly #path: string;
  readonly #content: Content | undefined;

  static open(path: string, fingerprint: string | null): Unfinished {
    if (fingerprint === null) return new Unfinished(path, undefined);
    const found = read(path);
    const fits = found?.fingerprint === fingerprint;
    return new Unfinished(path, fits ? found : { fingerprint, parts: {}, finished: {} });
  }

  private constructor(path: string, content: Content | undefined) {
    this.#path = path;
    this.#content = content;
  }

  /** Number of parts and works that need not be measured again. */
  get size(): number {
    const { parts = {}, finished = {} } = this.#content ?? {};
    return Object.keys(parts).length + Object.keys(finished).length;
  }

  /** Returns the findings of a work that is complete. */
  work(name: string): Findings | undefined {
    return this.#content?.finished[name];
  }

  part(work: string, name: string): Findings | undefined {
    return this.#content?.parts[`${work}/${name}`];
  }

  keepPart(work: string, name: string, findings: Findings): void {
    if (this.#content === undefined) return;
    this.#content.parts[`${work}/${name}`] = findings;
    this.#write();
  }

  /** Replaces a work's parts by its whole result. */
  keepWork(work: string, findings: Findings): void {
    if (this.#content === undefined) return;
    const { parts, finished } = this.#content;
    for (const key of Object.keys(parts).filter((key) => key.startsWith(`${work}/`))) delete parts[key];
    finished[work] = findings;
    this.#write();
  }

  /** Forgets a complete run of these works, so that the next one measures them again. */
  forget(works: readonly string[]): void {
    if (this.#content === undefined) return;
    for (const name of works) delete this.#content.finished[name];
    if (this.size === 0) rmSync(this.#path, { force: true });
    else this.#write();
  }

  #write(): void {
    writeFileSync(this.#path, `${JSON.stringify(this.#content)}\n`);
  }
}

function read(path: string): Content | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}
