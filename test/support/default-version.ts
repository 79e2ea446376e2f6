import type { Version } from '@parley/protocol/versions.ts';

/**
 * The Service-Version of requests and sockets of tests that do not name one: the oldest with the
 * companion endpoints, so that these tests also prove that its shapes have not changed.
 */
export const DEFAULT_VERSION = '1.1.harbor' satisfies Version;
