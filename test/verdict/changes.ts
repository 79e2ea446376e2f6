import { execFileSync } from 'node:child_process';

/** What is not as it was: a file, or a package that package-lock.json has in another version. */
export type Change =
  | { readonly path: string }
  | {
      readonly package: string;
      /**
       * The packages that package.json names and that need it; undefined: the tools of every test.
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
  const at = (path: string) => JSON.parse(git(root, ['show', `${base}:${path}`]));
  const now = (path: string) => JSON.parse(git(root, ['show', `HEAD:${path}`]));
  return paths.flatMap((path): Change[] => {
    if (path === 'package-lock.json') return changedPackages(at(path), now(path));
    // Its dependencies are those of the lock file.
    if (path === 'package.json') return settingsOf(at(path)) === settingsOf(now(path)) ? [] : [{ path }];
    return [{ path }];
  });
}

interface Lock {
  readonly packages: Readonly<Record<string, LockEntry>>;
}

interface LockEntry {
  readonly version?: string;
  readonly resolved?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** The tools that run every test. */
const TOOLS: ReadonlySet<string> = new Set(['tap', 'node']);

/** Returns the packages of which a copy differs, with the direct dependencies that reach them. */
export function changedPackages(before: Lock, now: Lock): Change[] {
  const versionsIn = ({ packages }: Lock) => {
    const found = new Map<string, Set<string>>();
    for (const [path, { version = '' }] of Object.entries(packages)) {
      const name = path.split('node_modules/').at(-1) ?? '';
      if (path.includes('node_modules/')) found.set(name, (found.get(name) ?? new Set()).add(version));
    }
    return found;
  };
  const [was, is] = [versionsIn(before), versionsIn(now)];
  const names = new Set([...was.keys(), ...is.keys()]);
  const textOf = (versions: ReadonlySet<string> | undefined) => [...(versions ?? [])].sort().join(' ');
  const changed = [...names].filter((name) => textOf(was.get(name)) !== textOf(is.get(name)));
  return changed.map((name) => ({ package: name, users: usersOf(name, [before, now]) }));
}

function usersOf(changed: string, locks: readonly Lock[]) {
  const users = new Map<string, boolean>();
  for (const { packages } of locks) {
    const { dependencies = {}, optionalDependencies = {}, devDependencies = {} } = packages[''] ?? {};
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
    for (const name of Object.keys(devDependencies)) if (reaches(name)) users.set(name, false);
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      if (reaches(name)) users.set(name, true);
    }
  }
  if ([...users.keys()].some((name) => TOOLS.has(name))) return undefined;
  return [...users].map(([name, production]) => ({ name, production }));
}

const DEPENDENCIES = ['dependencies', 'devDependencies', 'optionalDependencies'];

/** package.json without the versions of dependencies, and without scripts that start no test. */
function settingsOf(text: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(Object.entries(text).filter(([name]) => !DEPENDENCIES.includes(name)));
}

function git(root: string, args: readonly string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
}
