/** Supported values of Service-Version, oldest first (docs/contract.md#versions). */
export const VERSIONS = ['1.0.harbor', '1.1.harbor', '1.2.harbor-preview.1'] as const;

export type Version = (typeof VERSIONS)[number];

/** The newest stable version, which demo.json and the documentation use. */
export const CURRENT_VERSION = '1.1.harbor' satisfies Version;

/** The newest version, with everything that exists. */
export const NEWEST_VERSION = '1.2.harbor-preview.1' satisfies Version;

/** The version that introduced sockets: no socket speaks an older one. */
export const SOCKETS_SINCE = '1.1.harbor' satisfies Version;

export function isVersion(value: string): value is Version {
  return (VERSIONS as readonly string[]).includes(value);
}

/** Whether a caller that speaks `spoken` may use what exists since `since`. */
export function covers(spoken: Version, since: Version): boolean {
  return VERSIONS.indexOf(spoken) >= VERSIONS.indexOf(since);
}
