import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSIONS, type Version, versionNamed } from '@parley/protocol/versions.ts';
import type { Test } from 'tap';

/** Promised versions: their parts of the golden files are never written again. */
const FROZEN: readonly Version[] = ['1.0.harbor', '1.1.harbor', '1.2.harbor', '1.3.harbor', '1.4.harbor'];

/**
 * The version whose part of the golden files is written anew:
 * `GOLDEN_REWRITE=1.4.harbor npx tap …`, once, by the commit that promotes it
 * (docs/how-to.md#promoting-a-preview), which then adds it to FROZEN.
 */
const REWRITTEN = rewritten(process.env.GOLDEN_REWRITE);

/** What each version says, as a file: golden/<name>.json. */
export class Golden {
  readonly #path: string;
  readonly #known: Record<string, unknown>;

  constructor(name: string) {
    this.#path = join(import.meta.dirname, 'golden', `${name}.json`);
    this.#known = existsSync(this.#path) ? JSON.parse(readFileSync(this.#path, 'utf8')) : {};
  }

  /**
   * Fails where a version says something else than the file, or once where it was absent and is
   * written into it.
   */
  check(t: Test, version: Version, actual: object): void {
    const known = version === REWRITTEN ? undefined : this.#known[version];
    if (known !== undefined) {
      t.strictSame(actual, known, version);
      return;
    }
    this.#known[version] = actual;
    const inOrder = VERSIONS.flatMap((one) => (one in this.#known ? [[one, this.#known[one]]] : []));
    writeFileSync(this.#path, `${JSON.stringify(Object.fromEntries(inOrder), null, 2)}\n`);
    t.fail(`${version} was missing and is written now`);
  }
}

function rewritten(name: string | undefined): Version | undefined {
  if (name === undefined || name === '') return undefined;
  const version = versionNamed(name);
  if (version !== undefined && !FROZEN.includes(version)) return version;
  throw new Error(`GOLDEN_REWRITE: ${name} is ${version === undefined ? 'no version' : 'frozen'}`);
}
