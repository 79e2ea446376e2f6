/** Supported values of Service-Version, oldest first (docs/contract.md#versions). */
export const VERSIONS = ['1.0.harbor', '1.1.harbor', '1.2.harbor', '1.3.harbor-preview.1'] as const;

export type Version = (typeof VERSIONS)[number];

/** The newest stable version, which demo.json and the documentation use. */
export const CURRENT_VERSION = '1.2.harbor' satisfies Version;

/** The newest version, with everything that exists. */
export const NEWEST_VERSION = '1.3.harbor-preview.1' satisfies Version;

/** The version that introduced sockets: no socket speaks an older one. */
export const SOCKETS_SINCE = '1.1.harbor' satisfies Version;

/** Former names of stable versions. A caller that sends one gets the stable version, with a `Deprecation` header. */
const FORMER_NAMES: ReadonlyMap<string, Version> = new Map([['1.2.harbor-preview.1', '1.2.harbor']]);

export function isVersion(value: string): value is Version {
  return (VERSIONS as readonly string[]).includes(value);
}

/** Returns the version that `name` stands for, also by a former name; undefined if there is none. */
export function versionNamed(name: string): Version | undefined {
  return isVersion(name) ? name : FORMER_NAMES.get(name);
}

/** Returns whether `name` is a former name, which will not be supported for good. */
export function isFormerName(name: string): boolean {
  return FORMER_NAMES.has(name);
}

/** Whether a caller that speaks `spoken` may use what exists since `since`. */
export function covers(spoken: Version, since: Version): boolean {
  return VERSIONS.indexOf(spoken) >= VERSIONS.indexOf(since);
}
