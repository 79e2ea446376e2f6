import type { Version } from '@parley/protocol/versions.ts';

/**
 * Returns whether a version, under its own or a former name, has what came with `since`. Names sort
 * by their numbers, so pages need no list of them.
 */
export function speaks(name: string, since: Version): boolean {
  return name.localeCompare(since, 'en', { numeric: true }) >= 0;
}
