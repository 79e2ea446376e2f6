import { dirname } from 'node:path/posix';
import type { Container } from '../container/container.ts';
import { idOfCopy } from '../content/copies.ts';
import { type Line, linesOf, parse } from '../content/documents.ts';
import type { EmojiNames } from '../content/emoji-names.ts';
import { Sorter } from '../content/sorter.ts';
import { type Fields, fields, text } from '../content/values.ts';
import type { Walk } from '../content/walk.ts';
import { type ArchiveLimits, UnreadableArchive } from '../reader.ts';
import type { ArchiveRecord } from '../record.ts';
import { MattermostDirectory } from './directory.ts';
import { createdAt, keyOf, type MattermostPost, readPosts, translatePost } from './posts.ts';

/** The name of a JSONL file that is imported without a zip around it. */
export const PLAIN_NAME = 'import.jsonl';

interface MattermostOptions {
  readonly container: Container;
  readonly scratch: string;
  readonly limits: ArchiveLimits;
  readonly emojis: EmojiNames;
}

/**
 * Walks through a bulk export of Mattermost. Its posts are in no order of time, so that all are
 * read and sorted before the first message comes. Rejects with `UnreadableArchive` if it is none.
 */
export async function mattermostWalk(
  options: MattermostOptions,
): Promise<(walk: Walk) => AsyncGenerator<ArchiveRecord[]>> {
  const { container, limits, emojis } = options;
  const path = await findLines(container, limits);
  const folder = dirname(path) === '.' ? '' : `${dirname(path)}/`;
  return async function* (walk) {
    const content = (await container.open(path))!;
    walk.progress.total = content.size;
    const directory = new MattermostDirectory();
    const sorter = new Sorter<MattermostPost>(options);
    const source = { container, folder, emojis };
    try {
      for await (const lines of linesOf(content, limits.documentBytes)) {
        for (const line of lines) {
          walk.progress.done += line.bytes?.length ?? 0;
          for (const post of readLine(line, path, directory, source, limits, walk)) {
            await sorter.add(post, post.text.length + 300);
          }
        }
        yield walk.take();
      }
      walk.progress.done = walk.progress.total;
      directory.givePeople(walk, path);
      directory.giveConversations(walk);
      yield walk.take();
      const timeline = new MattermostTimeline(directory, emojis, walk);
      for await (const posts of sorter.sorted()) {
        for (const post of posts) timeline.add(post);
        yield walk.take();
      }
      directory.giveReadPositions(walk);
      yield walk.take();
    } finally {
      await sorter.close();
    }
  };
}

/** Finds the file of lines, whose first line has the version of the format. */
async function findLines(container: Container, limits: ArchiveLimits): Promise<string> {
  const depth = (path: string) => path.split('/').length;
  const [path] = [...container.entries.keys()]
    .filter((it) => it.endsWith('.jsonl'))
    .sort((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1));
  const content = path === undefined ? undefined : await container.open(path);
  if (path === undefined || content === undefined) {
    throw new UnreadableArchive(
      'wrong_format',
      'This is no export of Mattermost: it has no file of the type .jsonl.',
    );
  }
  for await (const [line] of linesOf(content, limits.documentBytes)) {
    const parsed = line?.bytes === undefined ? undefined : parse(line.bytes, limits);
    const { type, version } = parsed !== undefined && 'value' in parsed ? fields(parsed.value) : {};
    if (type !== 'version') break;
    if (version === 1) return path;
    throw new UnreadableArchive(
      'unsupported',
      'Of the bulk export of Mattermost, version 1 can be imported.',
    );
  }
  throw new UnreadableArchive(
    'wrong_format',
    `This is no export of Mattermost: ${path} does not begin with its version.`,
  );
}

function readLine(
  { number, bytes }: Line,
  path: string,
  directory: MattermostDirectory,
  source: Parameters<typeof readPosts>[3],
  limits: ArchiveLimits,
  walk: Walk,
): MattermostPost[] {
  const where = `${path}:${number}`;
  walk.meet('documents');
  const parsed = bytes === undefined ? { problem: 'The line is too long.' } : parse(bytes, limits);
  if ('problem' in parsed) {
    walk.skip('documents', 'unreadable', parsed.problem, where);
    return [];
  }
  walk.readDocument();
  const line = fields(parsed.value);
  const type = text(line.type) ?? '';
  const value = fields(line[type]);
  switch (type) {
    case 'team':
      directory.addTeam(value);
      return [];
    case 'channel':
      directory.addChannel(value, walk, where);
      return [];
    case 'user':
    case 'bot':
      directory.addUser(value, walk, where, type === 'bot');
      return [];
    case 'direct_channel':
      directory.addDirectChannel(value, walk, where);
      return [];
    case 'post':
      return postsOf(value, directory.groupOfPost(value, walk, where), directory, source, walk, where);
    case 'direct_post':
      return postsOf(value, directory.groupOfDirectPost(value, walk), directory, source, walk, where);
    // Parley has no roles, schemes and emojis of a workspace.
    case 'version':
    case 'role':
    case 'scheme':
    case 'emoji':
      return [];
    default:
      walk.note(
        'unknown_line',
        `A line of the type ${JSON.stringify(type.slice(0, 50))} is not known.`,
        where,
      );
      return [];
  }
}

function postsOf(
  post: Fields,
  group: number | undefined,
  directory: MattermostDirectory,
  source: Parameters<typeof readPosts>[3],
  walk: Walk,
  where: string,
): MattermostPost[] {
  // A post in no channel gets a channel of its own, so that nothing is lost.
  const place = group ?? directory.groupOfPost({ team: 'unknown', channel: 'unknown' }, walk, where)!;
  return readPosts(post, place, directory.ofGroup(place), source, walk, where);
}

/** Gives posts, which come by conversation and in the order of time. */
class MattermostTimeline {
  readonly #directory: MattermostDirectory;
  readonly #emojis: EmojiNames;
  readonly #walk: Walk;
  /** Ids of the roots of the present conversation, by `keyOf`. */
  #roots = new Map<string, string>();
  /** The posts of the present millisecond. */
  #copies = new Map<string, string[]>();
  #group = -1;
  #at = -1;

  constructor(directory: MattermostDirectory, emojis: EmojiNames, walk: Walk) {
    this.#directory = directory;
    this.#emojis = emojis;
    this.#walk = walk;
  }

  add(post: MattermostPost): void {
    const { group, at, root, where, reactions, files, pinned } = post;
    if (group !== this.#group) this.#roots = new Map();
    if (group !== this.#group || at !== this.#at) this.#copies = new Map();
    this.#group = group;
    this.#at = at;
    const id = idOfCopy(this.#copies, post.id, post.content);
    if (id === undefined) {
      this.#walk.skip('messages', 'duplicate', 'The archive has the post twice.', where);
      this.#walk.skip('reactions', 'duplicate', 'Its post is twice in the archive.', where, reactions.length);
      this.#walk.skip('files', 'duplicate', 'Its post is twice in the archive.', where, files.length);
      this.#walk.skip('pins', 'duplicate', 'Its post is twice in the archive.', where, pinned ? 1 : 0);
      return;
    }
    const reply_to = root === null ? null : (this.#roots.get(root) ?? null);
    if (root !== null && reply_to === null) {
      this.#walk.note(
        'invalid_thread',
        'A reply is older than what it replies to: it became a message.',
        where,
      );
    }
    this.#walk.message({
      id,
      conversation: this.#directory.ofGroup(group),
      author: post.author,
      created_at: createdAt(post),
      ...this.#translated(post),
      reply_to,
      edited_at: post.edited_at,
      reactions,
      files,
      pin: pinned ? { by: null, at: null } : null,
      system: post.system,
      where,
    });
    if (post.hasReplies) this.#roots.set(keyOf(post), id);
  }

  #translated(post: MattermostPost): { body: string | null; mentions: readonly string[] } {
    if (post.text.trim() === '') return { body: null, mentions: [] };
    return translatePost(post, this.#directory, this.#emojis);
  }
}
