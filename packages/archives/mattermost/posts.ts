import { createHash } from 'node:crypto';
import { basename } from 'node:path/posix';
import { type Container, isSafe, typeOf } from '../container/container.ts';
import { translateMarkdown } from '../content/chat-markdown.ts';
import type { EmojiNames } from '../content/emoji-names.ts';
import { fileName } from '../content/file-name.ts';
import { type Micros, millis, wireTime, wireTimeOrNull } from '../content/times.ts';
import { type Fields, fields, flag, idOf, list, text } from '../content/values.ts';
import type { Walk } from '../content/walk.ts';
import type { ArchivedFile, ArchivedReaction } from '../record.ts';
import type { MattermostDirectory } from './directory.ts';

/** A post or reply as it waits to be put in the order of time. Its text is not translated yet. */
export interface MattermostPost {
  readonly group: number;
  readonly at: Micros;
  readonly id: string;
  /** Distinguishes it from a post with the same id. */
  readonly content: string;
  readonly author: string;
  readonly text: string;
  readonly team: string;
  /** `id` and `content` of the root, where it is a reply. */
  readonly root: string | null;
  readonly hasReplies: boolean;
  readonly edited_at: string | null;
  readonly system: boolean;
  readonly pinned: boolean;
  readonly reactions: readonly ArchivedReaction[];
  readonly files: readonly ArchivedFile[];
  readonly where: string;
}

/** Sentences about people who come and go. */
const SKIPPED =
  /^system_(join|leave|add|remove|join_team|leave_team|add_to|remove_from|add_remove|join_leave|ephemeral|combined|auto_responder|fake|add_guest|guest_join|add_bot|welcome)/;

interface PostSource {
  readonly container: Container;
  /** The folder of the JSONL file. */
  readonly folder: string;
  readonly emojis: EmojiNames;
}

/** Reads a post with its replies; each is skipped, with the reason, where it cannot be shown. */
export function readPosts(
  post: Fields,
  group: number,
  channel: string,
  source: PostSource,
  walk: Walk,
  where: string,
): MattermostPost[] {
  const replies = list(post.replies);
  const team = idOf(post.team) ?? '';
  const root = readPost(
    post,
    { group, channel, team, root: null, hasReplies: replies.length > 0 },
    source,
    walk,
    where,
  );
  const rootKey = root && keyOf(root);
  if (root === undefined && replies.length > 0) {
    walk.note('missing_root', 'A post was skipped: its replies became messages of their own.', where);
  }
  const read = replies.map((reply, index) =>
    readPost(
      fields(reply),
      { group, channel, team, root: rootKey ?? null, hasReplies: false },
      source,
      walk,
      `${where}.replies[${index}]`,
    ),
  );
  return [root, ...read].filter((it) => it !== undefined);
}

/** Returns a key that is unique even among posts with the same id. */
export function keyOf({ id, content }: Pick<MattermostPost, 'id' | 'content'>): string {
  return `${id} ${content}`;
}

interface Place {
  readonly group: number;
  readonly channel: string;
  readonly team: string;
  readonly root: string | null;
  readonly hasReplies: boolean;
}

function readPost(
  post: Fields,
  { group, channel, team, root, hasReplies }: Place,
  source: PostSource,
  walk: Walk,
  where: string,
): MattermostPost | undefined {
  walk.meet('messages');
  const skip = (reason: string, detail: string): undefined => {
    skipParts(post, walk, where);
    walk.skip('messages', reason, detail, where);
  };
  const type = text(post.type) ?? '';
  if (SKIPPED.test(type)) return skip('system_message', `Mattermost's own message: ${type.slice(0, 50)}.`);
  const at = millis(post.create_at);
  if (at === null) return skip('invalid_time', 'Its create_at is no time.');
  const author = idOf(post.user)?.toLowerCase() ?? 'unknown';
  if (author === 'unknown') walk.hint(author, 'Unknown author');
  const written = [text(post.message), ...attached(post)].filter((it) => it !== null).join('\n\n');
  const files = filesOf(post, source, walk, where);
  if (written.trim() === '' && files.length === 0) {
    walk.meet('reactions', list(post.reactions).length);
    walk.skip('reactions', 'message_skipped', 'Its message was skipped.', where, list(post.reactions).length);
    if (flag(post.is_pinned)) {
      walk.meet('pins');
      walk.skip('pins', 'message_skipped', 'Its message was skipped.', where);
    }
    walk.skip('messages', 'empty', 'It has neither text nor files.', where);
    return undefined;
  }
  if (flag(post.is_pinned)) walk.meet('pins');
  const hash = createHash('sha256').update(JSON.stringify([written, files.map(({ name }) => name)]));
  return {
    group,
    at,
    id: `mattermost:${channel}:${at / 1000}:${author}`,
    content: hash.digest('base64url').slice(0, 16),
    author,
    text: type === 'me' ? `_${written.replace(/^\*|\*$/g, '')}_` : written,
    team,
    root,
    hasReplies,
    edited_at: wireTimeOrNull(millis(post.edit_at)),
    system: type.startsWith('system_'),
    pinned: flag(post.is_pinned),
    reactions: reactionsOf(post, source.emojis, walk, where),
    files,
    where,
  };
}

function attached(post: Fields): (string | null)[] {
  return list(fields(post.props).attachments).map((value) => {
    const it = fields(value);
    const title = text(it.title);
    const link = text(it.title_link);
    const lines = [
      text(it.pretext),
      title === null ? null : link === null ? `**${title}**` : `[${title}](${link})`,
      text(it.text),
      ...list(it.fields).map((field) => {
        const { title: name, value: content } = fields(field);
        return [text(name) && `**${text(name)}**`, content === undefined ? null : String(content)]
          .filter(Boolean)
          .join('\n');
      }),
    ].filter((line) => line !== null && line !== '');
    return lines.length > 0 ? lines.join('\n') : text(it.fallback);
  });
}

function filesOf(post: Fields, { container, folder }: PostSource, walk: Walk, where: string): ArchivedFile[] {
  return list(post.attachments).flatMap((value, index) => {
    walk.meet('files');
    const path =
      text(fields(value).path)
        ?.replaceAll('\\', '/')
        .replace(/^(\.?\/)+/, '') ?? null;
    const candidates =
      path === null || !isSafe(path)
        ? []
        : [`${folder}data/${path}`, `${folder}${path}`, `data/${path}`, path];
    const entry = candidates.find((it) => container.entries.has(it));
    if (entry === undefined) {
      walk.skip('files', 'missing_file', `The archive has no ${path ?? 'path of the file'}.`, where);
      return [];
    }
    const name = fileName(basename(entry), `file-${index + 1}`);
    const size = container.entries.get(entry)!.size;
    return [{ id: `${index + 1}:${name}`, name, content_type: typeOf(name), size, source: { entry } }];
  });
}

function reactionsOf(post: Fields, emojis: EmojiNames, walk: Walk, where: string): ArchivedReaction[] {
  return list(post.reactions).flatMap((value) => {
    walk.meet('reactions');
    const { user, emoji_name: name, create_at } = fields(value);
    const emoji = typeof name === 'string' ? emojis.find(name) : undefined;
    const person = idOf(user)?.toLowerCase();
    if (emoji === undefined) {
      walk.skip('reactions', 'custom_emoji', `:${String(name).slice(0, 80)}: is no emoji of Unicode.`, where);
      return [];
    }
    if (person === undefined) {
      walk.skip('reactions', 'no_person', 'A reaction has no user.', where);
      return [];
    }
    return [{ emoji, person, created_at: wireTimeOrNull(millis(create_at)) }];
  });
}

/** Skips the parts of a skipped post, but not its replies. */
function skipParts(post: Fields, walk: Walk, where: string): void {
  for (const [of, count] of [
    ['reactions', list(post.reactions).length],
    ['files', list(post.attachments).length],
    ['pins', flag(post.is_pinned) ? 1 : 0],
  ] as const) {
    walk.meet(of, count);
    walk.skip(of, 'message_skipped', 'Its message was skipped.', where, count);
  }
}

/** Translates the text once all people and channels are known. */
export function translatePost(
  { text: written, team }: MattermostPost,
  directory: MattermostDirectory,
  emojis: EmojiNames,
): { readonly body: string; readonly mentions: readonly string[] } {
  const mentions: string[] = [];
  const body = translateMarkdown(
    written,
    [
      {
        pattern: /(?<![\p{L}\p{N}_.@/-])@([a-z0-9][a-z0-9._-]*)/giu,
        write: ([name = '']) => {
          // A dot may end the name or the sentence.
          const trimmed = name.replace(/[._-]+$/, '');
          const username = [name, trimmed].find((it) => directory.mention(it) !== undefined);
          if (username === undefined) return undefined;
          mentions.push(username.toLowerCase());
          return `@${directory.mention(username)}${name.slice(username.length)}`;
        },
      },
      {
        pattern: /(?<![\p{L}\p{N}_~/-])~([a-z0-9][a-z0-9_-]*)/giu,
        write: ([name = '']) => {
          const title = directory.channelTitle(team, name.toLowerCase());
          return title === null ? undefined : `#${title}`;
        },
      },
    ],
    emojis,
  );
  return { body, mentions };
}

export function createdAt({ at }: MattermostPost): string {
  return wireTime(at);
}
