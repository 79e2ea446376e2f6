import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path/posix';
import { importsOf } from '../support/imports.ts';

/** What can change the result of a test. */
export interface Inputs {
  /** Files of the checkout that it imports, reads or runs, itself and its support included. */
  readonly files: ReadonlySet<string>;
  /** npm packages that these import by name. */
  readonly packages: ReadonlySet<string>;
  /** Whether it runs the server: then all of src/, but for `unrelated`, and what that needs. */
  readonly startsNode: boolean;
  /** Folders and files of src/ that its first lines name as without influence. */
  readonly unrelated: readonly string[];
  /** Whether it runs an earlier version of this project. */
  readonly runsEarlier: boolean;
}

/** Modules by which a test runs the server: in its own process, or as another one. */
const NODE = /^(src\/app\/(app|main|run-node)\.ts|test\/start\/parley\.ts|test\/support\/node\.ts)$/;
const EARLIER = 'test/support/earlier-checkout.ts';
/** What tap loads into each test file (package.json, tap). */
const EVERY_FILE = 'test/support/quick-tap.js';
/** `Without influence: src/edge/console, src/features/mail.` in the first comment of a test. */
const UNRELATED = /\bWithout influence:([^.]*(?:\.[a-z][^.]*)*)\.(?:\s|$)/;

/** Finds what tests depend on, by their imports and by the paths that they spell out. */
export class InputFinder {
  readonly #root: string;
  readonly #reached = new Map<string, { readonly files: readonly string[]; readonly packages: string[] }>();

  constructor(root: string) {
    this.#root = root;
  }

  inputsOf(test: string): Inputs {
    const outside = this.#walk([test, EVERY_FILE], (path) => !path.startsWith('src/'));
    const startsNode = [...outside.files].some((path) => NODE.test(path));
    // Of a server all of src/ counts, but for what is unrelated: its imports say no more.
    const { files, packages } = startsNode ? outside : this.#walk(outside.files, () => true);
    const unrelated = this.#partsOf(test).map((part) => unrelatedOf(this.#read(part)));
    return {
      files,
      packages,
      startsNode,
      unrelated: (unrelated[0] ?? []).filter((area) => unrelated.every((areas) => areas.includes(area))),
      runsEarlier: files.has(EARLIER),
    };
  }

  /** Follows imports and paths from files; `goesOn`: whether to follow those of this one too. */
  #walk(from: Iterable<string>, goesOn: (path: string) => boolean) {
    const files = new Set<string>();
    const packages = new Set<string>();
    const waiting = [...from];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (files.has(path)) continue;
      files.add(path);
      if (!goesOn(path)) continue;
      const reached = this.#reachedFrom(path);
      for (const name of reached.packages) packages.add(name);
      waiting.push(...reached.files);
    }
    return { files, packages };
  }

  /** A file that runs those of a folder together (test/support/together.ts) stands for them. */
  #partsOf(test: string): readonly string[] {
    const [, folder] = /^await runTogether\('([\w/-]+)'/m.exec(this.#read(test)) ?? [];
    if (folder === undefined) return [test];
    return globSync(`test/${folder}/*.test.ts`, { cwd: this.#root }).sort();
  }

  #reachedFrom(path: string) {
    const known = this.#reached.get(path);
    if (known !== undefined) return known;
    const files = new Set<string>(this.#partsOf(path));
    const packages: string[] = [];
    if (/\.[cm]?[jt]sx?$/.test(path)) {
      const text = this.#read(path);
      for (const { specifier, isType } of importsOf(text)) {
        if (isType) continue;
        if (specifier.startsWith('.')) files.add(join(dirname(path), specifier));
        else packages.push(packageOf(specifier));
      }
      // Paths outside src/ only: there they are routes and the like.
      if (!path.startsWith('src/')) for (const found of this.#spelledOut(path, text)) files.add(found);
    }
    const reached = { files: [...files].filter((file) => this.#isFile(file)), packages };
    this.#reached.set(path, reached);
    return reached;
  }

  /** Files, and the files of folders, that strings of a test name: children, fixtures, documents. */
  #spelledOut(path: string, text: string): string[] {
    const found: string[] = [];
    const code = text.replace(/^(import|export)\b[^;]*?\bfrom '[^']*';/gm, '');
    for (const [, name = ''] of code.matchAll(/['"`]((?:\.{0,2}\/)?[\w@-][\w@./-]*)['"`]/g)) {
      const isFolder = name.includes('/') || FOLDERS.has(name);
      if (!/\.[a-z]+$/.test(name) && !isFolder) continue;
      for (const from of [dirname(path), 'test/support', '']) {
        const target = join(from, name.replace(/^\//, ''));
        if (target.startsWith('..') || target.startsWith('/') || !existsSync(join(this.#root, target)))
          continue;
        if (this.#isFile(target)) found.push(target);
        else if (isFolder) {
          found.push(
            ...globSync(`${target}/**/*.*`, { cwd: this.#root }).filter((file) => !/\/dist[/-]/.test(file)),
          );
        }
        break;
      }
    }
    return found;
  }

  #isFile(path: string): boolean {
    return statSync(join(this.#root, path), { throwIfNoEntry: false })?.isFile() ?? false;
  }

  #read(path: string): string {
    return this.#isFile(path) ? readFileSync(join(this.#root, path), 'utf8') : '';
  }
}

/** Folders that a test may name without a slash. */
const FOLDERS: ReadonlySet<string> = new Set(['src', 'bench', 'examples', 'docs', 'migrations', 'bin']);

function unrelatedOf(text: string): readonly string[] {
  const [comment = ''] = /\/\*\*[\s\S]*?\*\//.exec(text) ?? [];
  const [, list = ''] = UNRELATED.exec(comment.replace(/\n \* ?/g, ' ')) ?? [];
  return list
    .split(',')
    .map((area) => area.trim())
    .filter((area) => area !== '');
}

function packageOf(specifier: string): string {
  const parts = specifier.split('/');
  return parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/');
}
