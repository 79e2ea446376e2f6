import { basename } from 'node:path/posix';
import { toEmoji } from '@parley/protocol/emoji.ts';
import { type Container, isSafe, typeOf } from '../container/container.ts';
import { translateMarkdown } from '../content/chat-markdown.ts';
import type { EmojiNames } from '../content/emoji-names.ts';
import { fileName } from '../content/file-name.ts';
import { type Micros, seconds, wireTimeOrNull } from '../content/times.ts';
import { contentType, type Fields, fields, idOf, list, text, whole } from '../content/values.ts';
import type { Walk } from '../content/walk.ts';
import type { ArchivedFile, ArchivedReaction } from '../record.ts';
import type { ZulipConversation, ZulipDirectory } from './directory.ts';

/** A message as it waits to be put in the order of time. */
export interface ZulipMessage {
  readonly group: number;
  readonly at: Micros;
  readonly id: string;
  readonly author: string;
  readonly body: string | null;
  readonly mentions: readonly string[];
  /** Null where the conversation has none. */
  readonly topic: string | null;
  readonly edited_at: string | null;
  readonly reactions: readonly ArchivedReaction[];
  readonly files: readonly ArchivedFile[];
  readonly where: string;
}

export interface ZulipSource {
  readonly container: Container;
  /** The folder of the export within the archive. */
  readonly folder: string;
  readonly emojis: EmojiNames;
  readonly directory: ZulipDirectory;
  /** Reactions by the ids of their messages, which take them away. */
  readonly reactions: Map<string, readonly Fields[]>;
  /** Attachments by their paths. */
  readonly attachments: ReadonlyMap<string, Fields>;
}

/** Reads a message; skips it, with the reason, where it cannot be shown. */
export function readMessage(
  message: Fields,
  conversation: ZulipConversation,
  source: ZulipSource,
  walk: Walk,
  where: string,
): ZulipMessage | undefined {
  const id = idOf(message.id);
  const reactions = id === null ? [] : (source.reactions.get(id) ?? []);
  walk.meet('messages');
  walk.meet('reactions', reactions.length);
  const skip = (reason: string, detail: string): undefined => {
    walk.skip('messages', reason, detail, where);
    walk.skip('reactions', 'message_skipped', 'Its message was skipped.', where, reactions.length);
  };
  const at = seconds(message.date_sent);
  if (id === null) return skip('no_id', 'It has no id.');
  if (at === null) return skip('invalid_time', 'Its date_sent is no time.');
  const content = text(message.content) ?? '';
  if (content.trim() === '') return skip('empty', 'It has no text.');
  const author = idOf(message.sender) ?? 'unknown';
  if (author === 'unknown') walk.hint(author, 'Unknown author');
  const topic = text(message.subject)?.replaceAll('\x07', '').trim() ?? '';
  return {
    group: conversation.group,
    at,
    id,
    author,
    ...translate(content, source),
    topic: conversation.topics && topic !== '' && topic !== '(no topic)' ? topic : null,
    edited_at: wireTimeOrNull(seconds(message.last_edit_time)),
    reactions: reactions.flatMap((it) => reactionOf(it, source, walk, where)),
    files: filesOf(content, source, walk, where),
    where,
  };
}

/** Links to files that were uploaded: `[name](/user_uploads/2/ab/cd/name.txt)`. */
const UPLOAD = /(!?)\[([^\]\n]*)\]\((?:https?:\/\/[^\s()/]+)?\/user_uploads\/([^\s()]+)\)/g;

function translate(
  content: string,
  { emojis, directory }: ZulipSource,
): { body: string; mentions: string[] } {
  const mentions: string[] = [];
  const mention = (silent: string | undefined, name = '', id: string | undefined) => {
    if (ALL.has(name)) return `@${name}`;
    const ref = id ?? directory.named(name);
    if (ref === undefined) return `@${name}`;
    if (!silent) mentions.push(ref);
    return `@${directory.mention(ref) ?? name}`;
  };
  const withoutUploads = content.replace(
    UPLOAD,
    (_, _image: string, label: string, path: string) => label || basename(path),
  );
  const body = translateMarkdown(
    withoutUploads,
    [
      {
        pattern: /@(_?)\*\*([^*|\n]+)(?:\|(\d+))?\*\*/g,
        write: ([silent, name, id]) => mention(silent, name, id),
      },
      { pattern: /@_?\*([^*\n]+)\*/g, write: ([name]) => `@${name}` },
      {
        pattern: /#\*\*([^*\n>]+)(?:>([^*\n]*?))?(?:@\d+)?\*\*/g,
        write: ([name, topic]) => (topic ? `#${name} > ${topic}` : `#${name}`),
      },
    ],
    emojis,
  );
  return { body: body.startsWith('/me ') ? `_${body.slice(4)}_` : body, mentions };
}

const ALL: ReadonlySet<string> = new Set(['all', 'everyone', 'channel', 'stream', 'topic']);

function reactionOf(
  { emoji_code: code, emoji_name: name, reaction_type: type, user_profile: user }: Fields,
  { emojis }: ZulipSource,
  walk: Walk,
  where: string,
): ArchivedReaction[] {
  const person = idOf(user);
  const emoji =
    type === 'realm_emoji' || type === 'zulip_extra_emoji'
      ? undefined
      : (fromCode(code) ?? (typeof name === 'string' ? emojis.find(name) : undefined));
  if (emoji !== undefined && person !== null) return [{ emoji, person, created_at: null }];
  if (person === null) walk.skip('reactions', 'no_person', 'A reaction has no user.', where);
  else
    walk.skip('reactions', 'custom_emoji', `:${String(name).slice(0, 80)}: is no emoji of Unicode.`, where);
  return [];
}

/** Decodes `1f44d` or `1f1eb-1f1f7`. */
function fromCode(code: unknown): string | undefined {
  if (typeof code !== 'string' || !/^[0-9a-f]{2,6}(-[0-9a-f]{2,6}){0,15}$/i.test(code)) return undefined;
  const points = code.split('-').map((hex) => Number.parseInt(hex, 16));
  return points.every((point) => point <= 0x10ffff) ? toEmoji(String.fromCodePoint(...points)) : undefined;
}

function filesOf(content: string, source: ZulipSource, walk: Walk, where: string): ArchivedFile[] {
  const { container, folder, attachments } = source;
  const paths = new Set([...content.matchAll(UPLOAD)].map(([, , , path]) => decoded(path!)));
  return [...paths].flatMap((path) => {
    walk.meet('files');
    const entry = `${folder}uploads/${path}`;
    const stored = isSafe(path) ? container.entries.get(entry) : undefined;
    if (stored === undefined) {
      walk.skip('files', 'missing_file', `The archive has no ${path.slice(0, 200)}.`, where);
      return [];
    }
    const attachment = fields(attachments.get(path));
    const name = fileName(text(attachment.file_name) ?? basename(path), 'file');
    const content_type = contentType(attachment.content_type) ?? typeOf(name);
    return [{ id: path.slice(-200), name, content_type, size: stored.size, source: { entry } }];
  });
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** The flag of a message that a person has read. */
const READ = 1;

/** Returns who has a message and whether it was read. */
export function readingOf(value: unknown): { message: string; person: string; read: boolean } | undefined {
  const { message, user_profile, flags_mask, flags } = fields(value);
  const [id, person] = [idOf(message), idOf(user_profile)];
  if (id === null || person === null) return undefined;
  const mask = whole(flags_mask) ?? whole(flags);
  return { message: id, person, read: mask === null ? list(flags).includes('read') : (mask & READ) !== 0 };
}
