import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { identityOf, type LockedPackages, lockedPackages } from '../support/lock-file.ts';

/** A changed file, or a package with another copy in package-lock.json. */
export type Change =
  | { readonly path: string }
  | {
      readonly package: string;
      /**
       * The packages that a package.json of ours names and that need it; undefined: the tools of
       * every test.
       */
      readonly users: readonly { readonly name: string; readonly production: boolean }[] | undefined;
    };

/**
 * Returns the newest commit that is older than a day: what landed since then counts as changed, so
 * that a verdict of the next hours runs it again. Undefined where there is none.
 */
export function baseCommit(root: string): string | undefined {
  return git(root, ['rev-list', '-1', '--before=24 hours ago', 'HEAD']).trim() || undefined;
}

/** Returns how many commits lead here, which says whose turn it is. */
export function commitCount(root: string): number {
  return Number(git(root, ['rev-list', '--count', 'HEAD']));
}

/** Compares the checkout with a commit. */
export function changesSince(root: string, base: string): Change[] {
  const paths = [
    ...git(root, ['diff', '--name-only', '--no-renames', '-z', base]).split('\0'),
    ...git(root, ['ls-files', '--others', '--exclude-standard', '-z']).split('\0'),
  ].filter((path) => path !== '');
  const before = (path: string) => {
    const isNew = git(root, ['ls-tree', '--name-only', base, '--', path]) === '';
    return isNew ? {} : JSON.parse(git(root, ['show', `${base}:${path}`]));
  };
  return paths.flatMap((path): Change[] => {
    if (path === 'package-lock.json') return changedPackages(before(path).packages, lockedPackages(root));
    // Its dependencies are those of the lock file.
    if (/^(packages\/[\w-]+\/)?package\.json$/.test(path) && existsSync(join(root, path))) {
      const now = JSON.parse(readFileSync(join(root, path), 'utf8'));
      return settingsOf(before(path)) === settingsOf(now) ? [] : [{ path }];
    }
    return [{ path }];
  });
}

/** The tools that run every test. */
const TOOLS: ReadonlySet<string> = new Set(['tap', 'node']);

/** Returns the packages of which a copy differs, with the direct dependencies that reach them. */
export function changedPackages(before: LockedPackages, now: LockedPackages): Change[] {
  const copiesIn = (packages: LockedPackages) => {
    const found = new Map<string, Set<string>>();
    for (const [path, it] of Object.entries(packages)) {
      const name = path.split('node_modules/').at(-1) ?? '';
      if (path.includes('node_modules/')) found.set(name, (found.get(name) ?? new Set()).add(identityOf(it)));
    }
    return found;
  };
  const [was, is] = [copiesIn(before), copiesIn(now)];
  const names = new Set([...was.keys(), ...is.keys()]);
  const textOf = (copies: ReadonlySet<string> | undefined) => [...(copies ?? [])].sort().join(' ');
  const changed = [...names].filter((name) => textOf(was.get(name)) !== textOf(is.get(name)));
  return changed.map((name) => ({ package: name, users: usersOf(name, [before, now]) }));
}

function usersOf(changed: string, locks: readonly LockedPackages[]) {
  const users = new Map<string, boolean>();
  for (const packages of locks) {
    const needed = new Map<string, Set<string>>();
    for (const [path, entry] of Object.entries(packages)) {
      const name = path.split('node_modules/').at(-1) ?? '';
      const all = { ...entry.dependencies, ...entry.optionalDependencies };
      needed.set(name, new Set([...(needed.get(name) ?? []), ...Object.keys(all)]));
    }
    const reaches = (name: string, seen = new Set<string>()): boolean => {
      if (name === changed) return true;
      if (seen.has(name)) return false;
      seen.add(name);
      return [...(needed.get(name) ?? [])].some((next) => reaches(next, seen));
    };
    for (const [path, ours] of Object.entries(packages)) {
      if (path.includes('node_modules/')) continue;
      const { dependencies, optionalDependencies, devDependencies = {} } = ours;
      const isReached = (name: string) => !name.startsWith('@parley/') && reaches(name);
      for (const name of Object.keys(devDependencies).filter(isReached)) {
        users.set(name, users.get(name) ?? false);
      }
      const needs = Object.keys({ ...dependencies, ...optionalDependencies });
      for (const name of needs.filter(isReached)) users.set(name, true);
    }
  }
  if ([...users.keys()].some((name) => TOOLS.has(name))) return undefined;
  return [...users].map(([name, production]) => ({ name, production }));
}

const DEPENDENCIES = ['dependencies', 'devDependencies', 'optionalDependencies'];

/** Returns package.json without the versions of dependencies, as a text to compare. */
function settingsOf(text: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(Object.entries(text).filter(([name]) => !DEPENDENCIES.includes(name)));
}

function git(root: string, args: readonly string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
}
