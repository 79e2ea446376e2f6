import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** An entry of package-lock.json, of format 3. */
export interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Packages by path: `node_modules/pg`; the checkout itself has an empty path. */
export type LockedPackages = Readonly<Record<string, LockedPackage>>;

/** Returns the contents of a checkout's lock file. */
export function lockedPackages(directory: string): LockedPackages {
  return JSON.parse(readFileSync(join(directory, 'package-lock.json'), 'utf8')).packages;
}

/** Returns whether a package is installed for more than development. */
export function isForNode({ dev, devOptional }: LockedPackage): boolean {
  return !dev && !devOptional;
}

/** Returns the same text for the same content of a package. */
export function identityOf({ version, integrity }: LockedPackage = {}): string {
  return `${version} ${integrity}`;
}
