import { Parser, type Result } from 'tap-parser';

/** An assertion that failed. */
interface Failure {
  /** The names of its tests and its own, joined by `›`. */
  readonly name: string;
  readonly diagnostics: string;
}

/** The results of one process of a run: a test file, or several that run together. */
export interface FileResult {
  /** Its path in the checkout, such as `test/messages/send-contract.test.ts`. */
  readonly file: string;
  readonly seconds: number;
  readonly passed: number;
  readonly skipped: readonly string[];
  /** By the file that has the assertion, where several run together. */
  readonly failures: ReadonlyMap<string, readonly Failure[]>;
  /**
   * How the process ended, if not by itself and with a summary: what it did not say may be worse.
   */
  readonly crash: string | undefined;
  /** The end of its output that is no result, such as a log. */
  readonly noise: string;
}

/** Reads the output of tap as it comes, and hands on the result of each file when it has ended. */
export class ResultReader {
  readonly #parser = new Parser({});
  readonly #results: FileResult[] = [];
  readonly #expected: ReadonlySet<string>;
  readonly #onResult: (result: FileResult) => void;

  constructor(files: readonly string[], onResult: (result: FileResult) => void) {
    this.#expected = new Set(files);
    this.#onResult = onResult;
    let child: FileReader | undefined;
    this.#parser.on('child', (parser: Parser) => {
      child = new FileReader(parser);
    });
    this.#parser.on('assert', (end: Result) => {
      if (this.#expected.has(end.name)) this.#add((child ?? new FileReader()).resultOf(end));
      child = undefined;
    });
  }

  write(data: Buffer): void {
    this.#parser.write(data);
  }

  /**
   * Returns all results. A file without one is a crash: tap forgets files that wait when another
   * one runs into its time limit.
   */
  end(): readonly FileResult[] {
    this.#parser.end();
    const seen = new Set(this.#results.map(({ file }) => file));
    for (const file of this.#expected) {
      if (!seen.has(file)) this.#add({ ...NOTHING, file, crash: 'it has no result' });
    }
    return this.#results;
  }

  #add(result: FileResult): void {
    this.#results.push(result);
    this.#onResult(result);
  }
}

const NOTHING: Omit<FileResult, 'file'> = {
  seconds: 0,
  passed: 0,
  skipped: [],
  failures: new Map(),
  crash: undefined,
  noise: '',
};

/** Assertions that tap adds to a test that did not come to its end. */
const BROKEN_OFF = ['test unfinished', 'timeout!'];
/** A subtest that is a file, where several run together (test/support/together.ts). */
const RUNS_TOGETHER = /^[\w/-]+\.test\.ts$/;

/** Characters; what came before is of no use to a reader of a failure. */
const MAX_NOISE = 20_000;

/** Counts what one file asserts, at any depth. */
class FileReader {
  #passed = 0;
  #noise = '';
  readonly #skipped: string[] = [];
  readonly #failed: { readonly path: readonly string[]; readonly diagnostics: string }[] = [];
  readonly #parser: Parser | undefined;

  constructor(parser?: Parser) {
    this.#parser = parser;
    if (parser !== undefined) this.#read(parser, []);
  }

  resultOf({ name: file, ok, time, diag }: Result): FileResult {
    const failures = new Map<string, Failure[]>();
    for (const { path, diagnostics } of this.#failed) {
      const [first = '', ...rest] = path;
      const isTogether = RUNS_TOGETHER.test(first);
      const key = isTogether ? first : file;
      const name = (isTogether && rest.length > 0 ? rest : path).join(' › ');
      failures.set(key, [...(failures.get(key) ?? []), { name, diagnostics }]);
    }
    return {
      file,
      seconds: (time ?? 0) / 1_000,
      passed: this.#passed,
      skipped: this.#skipped,
      failures,
      crash: ok ? undefined : this.#crashOf(diag ?? {}),
      noise: this.#noise,
    };
  }

  #crashOf({ exitCode, signal }: { readonly exitCode?: unknown; readonly signal?: unknown }) {
    if (typeof signal === 'string') return `it was ended by ${signal}`;
    const broken = this.#failed.find(({ path }) => BROKEN_OFF.includes(path.at(-1) ?? ''));
    if (broken !== undefined) return broken.path.join(' › ');
    // tap ends with 1 after failures that it has told, and Node after an error that it has thrown.
    if (exitCode !== 1 || this.#failed.length === 0 || (this.#parser?.planEnd ?? -1) < 1)
      return `it ended with exit code ${exitCode} and without a summary`;
    return undefined;
  }

  #read(parser: Parser, path: readonly string[]): void {
    let child: Parser | undefined;
    parser.on('child', (next: Parser) => {
      child = next;
      this.#read(next, [...path, next.name]);
    });
    parser.on('extra', (text: string) => {
      this.#noise = `${this.#noise}${text}`.slice(-MAX_NOISE);
    });
    parser.on('assert', ({ ok, skip, todo, name, diag }: Result) => {
      // The end of a subtest says again what its assertions said, if it had any.
      const hadAssertions = child !== undefined && child.count > 0 && (ok || child.fail > 0);
      child = undefined;
      if (hadAssertions) return;
      const here = [...path, name];
      if (skip || todo) this.#skipped.push(`${here.join(' › ')}: ${skip || todo}`);
      else if (ok) this.#passed += 1;
      else this.#failed.push({ path: here, diagnostics: diagnosticsOf(diag) });
    });
  }
}

function diagnosticsOf(diag: unknown): string {
  if (diag === null || typeof diag !== 'object') return '';
  return Object.entries(diag)
    .filter(([name]) => name !== 'source' && name !== 'at')
    .map(([name, value]) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      return `${name}: ${text?.includes('\n') ? `\n${text.trimEnd().replace(/^/gm, '  ')}` : text}`;
    })
    .join('\n');
}
