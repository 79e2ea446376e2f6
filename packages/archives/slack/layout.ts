import { basename, dirname } from 'node:path/posix';
import type { Container } from '../container/container.ts';
import { groupBy } from '../content/values.ts';
import { UnreadableArchive } from '../reader.ts';

/** The lists of conversations in a workspace, and what they list. */
export const CONVERSATION_LISTS = {
  'channels.json': 'channel',
  'groups.json': 'private_channel',
  'mpims.json': 'group',
  'dms.json': 'direct',
} as const;

/** A folder with one file for each day of a conversation. */
export interface DayFolder {
  readonly name: string;
  /** Paths in the order of their days. */
  readonly files: readonly string[];
}

/** A workspace: an export has one, or several for an organization (Enterprise Grid). */
export interface Workspace {
  /** Empty, or the folder with a `/` at its end. */
  readonly folder: string;
  readonly lists: readonly (keyof typeof CONVERSATION_LISTS)[];
  readonly conversations: readonly DayFolder[];
}

export interface SlackLayout {
  readonly userLists: readonly string[];
  readonly workspaces: readonly Workspace[];
  /** Files that tools have put into the export, by the id of the file. */
  readonly uploads: ReadonlyMap<string, string>;
}

/** Finds the parts of an export. Throws `UnreadableArchive` where it is none. */
export function layoutOf({ entries }: Container): SlackLayout {
  const userLists: string[] = [];
  const lists = new Map<string, (keyof typeof CONVERSATION_LISTS)[]>();
  const uploads = new Map<string, string>();
  for (const path of entries.keys()) {
    const name = basename(path);
    if (name === 'users.json' || name === 'org_users.json') userLists.push(path);
    if (name in CONVERSATION_LISTS) {
      const folder = folderOf(path);
      lists.set(folder, [...(lists.get(folder) ?? []), name as keyof typeof CONVERSATION_LISTS]);
    }
    const id = UPLOADED.exec(path)?.slice(1).find(Boolean);
    if (id !== undefined && !uploads.has(id)) uploads.set(id, path);
  }
  if (userLists.length === 0 || lists.size === 0) refuse([...entries.keys()]);
  const days = groupBy(daysByFolder(entries.keys()), ([path]) => folderOf(path));
  const workspaces = [...lists].sort(byKey).map(([folder, names]) => ({
    folder,
    lists: names.sort(),
    conversations: (days.get(folder) ?? [])
      .map(([path, files]) => ({ name: basename(path), files: files.sort(byDay) }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
  }));
  return { userLists: userLists.sort(), workspaces, uploads };
}

/**
 * Files of slack-advanced-exporter and slackdump: `__uploads/F1/a.png`,
 * `general/attachments/F1-a.png`.
 */
const UPLOADED = /(?:^|\/)__uploads\/([^/]+)\/[^/]+$|\/attachments\/([A-Z0-9]+)-[^/]+$/;

function folderOf(path: string): string {
  const folder = dirname(path);
  return folder === '.' ? '' : `${folder}/`;
}

function daysByFolder(paths: Iterable<string>): Map<string, string[]> {
  const days = [...paths].filter(
    (path) => dirname(path) !== '.' && path.endsWith('.json') && !UPLOADED.test(path) && !NOT_DAYS.test(path),
  );
  return groupBy(days, (path) => dirname(path));
}

/** Lists of the workspace, which are not messages. */
const NOT_DAYS =
  /(^|\/)(users|org_users|channels|groups|mpims|dms|integration_logs|canvases|content_flags|lists|file_conversations|huddle_transcripts)\.json$/;

/** Orders `2024-1-9.json` before `2024-01-10.json`, and other names after days, by letters. */
function byDay(a: string, b: string): number {
  return dayOf(a) - dayOf(b) || (a < b ? -1 : 1);
}

function dayOf(path: string): number {
  const [, year, month, day] = /(\d{4})-(\d{1,2})-(\d{1,2})[^/]*$/.exec(path) ?? [];
  return year === undefined
    ? Number.MAX_SAFE_INTEGER
    : Number(year) * 10_000 + Number(month) * 100 + Number(day);
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

function refuse(paths: readonly string[]): never {
  if (paths.some((path) => path.endsWith('.txt')) && !paths.some((path) => path.endsWith('.json'))) {
    throw new UnreadableArchive(
      'unsupported',
      'This is an export of Slack in TXT, which single people get. Only exports in JSON can be imported.',
    );
  }
  throw new UnreadableArchive(
    'wrong_format',
    'This is no export of Slack: it has no users.json with a channels.json, groups.json, mpims.json or dms.json.',
  );
}
