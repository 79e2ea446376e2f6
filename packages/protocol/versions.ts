/** Supported values of Service-Version, oldest first (docs/contract.md#versions). */
export const VERSIONS = [
  '1.0.harbor',
  '1.1.harbor',
  '1.2.harbor',
  '1.3.harbor',
  '1.4.harbor',
  '1.5.harbor-preview.1',
] as const;

export type Version = (typeof VERSIONS)[number];

/** The newest stable version, which demo.json and the documentation use. */
export const CURRENT_VERSION = '1.4.harbor' satisfies Version;

/** The newest version, with everything that exists. */
export const NEWEST_VERSION = '1.5.harbor-preview.1' satisfies Version;

/** The version that introduced sockets: no socket speaks an older one. */
export const SOCKETS_SINCE = '1.1.harbor' satisfies Version;

/** The version that introduced streams and polls, which carry sockets' frames. */
export const STREAMS_SINCE = '1.3.harbor' satisfies Version;

const FORMER = [
  ['1.2.harbor-preview.1', '1.2.harbor'],
  ['1.3.harbor-preview.1', '1.3.harbor'],
  ['1.4.harbor-preview.1', '1.4.harbor'],
] as const satisfies readonly (readonly [name: string, version: Version])[];

/** Former names of stable versions, oldest first. A former name means the stable version. */
export const FORMER_NAMES: ReadonlyMap<string, Version> = new Map<string, Version>(FORMER);

/** The days of a former name, such as `2027-06-30`. */
export interface Deprecation {
  readonly since: string;
  /** The first day on which a release may refuse the name in requests. Rows may keep it. */
  readonly sunset: string;
}

/** The days of each former name. */
export const DEPRECATIONS: Readonly<Record<(typeof FORMER)[number][0], Deprecation>> = {
  '1.2.harbor-preview.1': { since: '2026-11-23', sunset: '2027-06-30' },
  '1.3.harbor-preview.1': { since: '2026-11-26', sunset: '2027-06-30' },
  '1.4.harbor-preview.1': { since: '2026-12-01', sunset: '2027-06-30' },
};

export function isVersion(value: string): value is Version {
  return (VERSIONS as readonly string[]).includes(value);
}

/** Returns the version of this name, also of a former one; undefined if there is none. */
export function versionNamed(name: string): Version | undefined {
  return isVersion(name) ? name : FORMER_NAMES.get(name);
}

/**
 * Returns the name by which rows keep a version: its first one, which nodes of the release before a
 * promotion know too (DECISIONS.md#rows-keep-the-first-name-of-a-version).
 */
export function keptName(version: Version): string {
  for (const [name, former] of FORMER_NAMES) if (former === version) return name;
  return version;
}

/** Returns the version of a row; the newest of this node if only newer nodes know the name. */
export function keptVersion(name: string): Version {
  return versionNamed(name) ?? NEWEST_VERSION;
}

/** Returns whether callers of version `spoken` may use features since `since`. */
export function covers(spoken: Version, since: Version): boolean {
  return VERSIONS.indexOf(spoken) >= VERSIONS.indexOf(since);
}

/** Returns the stable version, or the version of what came later: `since`. */
export function versionFor(since: Version): Version {
  return covers(CURRENT_VERSION, since) ? CURRENT_VERSION : since;
}
