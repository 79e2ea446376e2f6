import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path/posix';
import { importedPath, importsOf } from '../support/imports.ts';
import { AREAS } from './areas.ts';

/** The things that can change the result of a test. */
export interface Inputs {
  /** Files of the checkout that it imports, reads or runs, itself and its support included. */
  readonly files: ReadonlySet<string>;
  /** npm packages that these import by name. */
  readonly packages: ReadonlySet<string>;
  /**
   * Whether it runs the server: then all of src/ and packages/, but for `unrelated`, and what that
   * needs.
   */
  readonly startsNode: boolean;
  /** Folders and files of src/ and packages/ that its first lines name as without influence. */
  readonly unrelated: readonly string[];
  /** Whether it runs an earlier version of this project. */
  readonly runsEarlier: boolean;
}

/** Modules by which a test runs the server: in its own process, or as another one. */
const NODE = /^(src\/app\/(app|main|run-node)\.ts|test\/start\/parley\.ts|test\/support\/node\.ts)$/;
const EARLIER = /^test\/support\/earlier-checkout\.ts$/;
/** The module that tap loads into each test file (package.json, tap). */
const EVERY_FILE = 'test/support/quick-tap.js';
/** `Without influence: PAGES, src/features/mail.` in the first comment of a test (areas.ts). */
const UNRELATED = /\bWithout influence:([^.]*(?:\.[a-z][^.]*)*)\.(?:\s|$)/;

/** Finds what tests depend on, by their imports and by the paths that they spell out. */
export class InputFinder {
  readonly #root: string;
  /** All files of the checkout: what is installed or built comes from them. */
  readonly #all: ReadonlySet<string>;
  readonly #folders = new Map<string, string[]>();
  readonly #reached = new Map<string, { readonly files: readonly string[]; readonly packages: string[] }>();

  constructor(root: string) {
    this.#root = root;
    const args = ['ls-files', '--cached', '--others', '--exclude-standard', '-z'];
    this.#all = new Set(execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\0'));
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
      runsEarlier: [...files].some((path) => EARLIER.test(path)),
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
    return this.#inside(folder).filter((file) => file.endsWith('.test.ts'));
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
        const imported = importedPath(path, specifier);
        if (imported === undefined) packages.push(packageOf(specifier));
        else files.add(imported);
      }
      // In src/ such strings are routes and the like, and in test/verdict/ they are data.
      if (!/^(src|packages\/[\w-]+\/(?!test\/)|test\/verdict)/.test(path))
        for (const found of this.#spelledOut(path, text)) files.add(found);
    }
    const reached = { files: [...files].filter((file) => this.#all.has(file)), packages };
    this.#reached.set(path, reached);
    return reached;
  }

  /**
   * Files, and the files of folders, that strings of a test name: children, fixtures, documents.
   */
  #spelledOut(path: string, text: string): string[] {
    const found: string[] = [];
    const code = text.replace(/^(import|export)\b[^;]*?\bfrom '[^']*';/gm, '');
    for (const [, name = ''] of code.matchAll(/['"`]((?:\.{0,2}\/)?[\w@-][\w@./-]*)['"`]/g)) {
      const isFolder = name.includes('/') || FOLDERS.has(name);
      if (!/\.[a-z]+$/.test(name) && !isFolder) continue;
      for (const from of [dirname(path), 'test/support', '']) {
        const target = join(from, name.replace(/^\//, '')).replace(/\/$/, '');
        const named = this.#all.has(target) ? [target] : isFolder ? this.#inside(target) : [];
        found.push(...named);
        if (named.length > 0) break;
      }
    }
    return found;
  }

  #inside(folder: string): string[] {
    const known = this.#folders.get(folder);
    if (known !== undefined) return known;
    const inside = [...this.#all].filter((path) => path.startsWith(`${folder}/`));
    this.#folders.set(folder, inside);
    return inside;
  }

  #read(path: string): string {
    return this.#all.has(path) ? readFileSync(join(this.#root, path), 'utf8') : '';
  }
}

/** Folders that a test may name without a slash. */
const FOLDERS: ReadonlySet<string> = new Set([
  'src',
  'packages',
  'bench',
  'examples',
  'docs',
  'migrations',
  'bin',
]);

function unrelatedOf(text: string): readonly string[] {
  const [comment = ''] = /\/\*\*[\s\S]*?\*\//.exec(text) ?? [];
  const [, list = ''] = UNRELATED.exec(comment.replace(/\n \* ?/g, ' ')) ?? [];
  const names = list.split(',').map((name) => name.trim());
  return names.flatMap((name) => AREAS[name] ?? (name === '' ? [] : name));
}

function packageOf(specifier: string): string {
  const parts = specifier.split('/');
  return parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/');
}
