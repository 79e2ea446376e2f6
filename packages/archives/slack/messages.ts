import { type Micros, slackMicros, wireTime, wireTimeOrNull } from '../content/times.ts';
import { type Fields, fields, flag, idOf, list, text } from '../content/values.ts';
import { nameOf, type Walk } from '../content/walk.ts';
import type { ArchivedFile, ArchivedReaction } from '../record.ts';
import { filesOf, fileValues } from './files.ts';
import { type SlackNames, type Translated, translateMrkdwn } from './mrkdwn.ts';
import type { SlackPeople } from './people.ts';
import { translateBlocks } from './rich-text.ts';

/** A message as it waits to be put in the order of time. */
export interface SlackMessage {
  readonly group: number;
  readonly at: Micros;
  /** Id of the conversation and `ts`, which together are unique in Slack. */
  readonly channel: string;
  readonly ts: string;
  readonly author: string;
  readonly body: string | null;
  readonly mentions: readonly string[];
  /** `ts` of the thread's root. */
  readonly thread: string | null;
  /** Author of the root, where the message is a reply. */
  readonly rootAuthor: string | null;
  readonly editedAt: string | null;
  readonly deleted: boolean;
  readonly system: boolean;
  readonly reactions: readonly ArchivedReaction[];
  readonly files: readonly ArchivedFile[];
  /** Set where the message itself says that it is pinned. */
  readonly pinned: { readonly by: string | null; readonly at: string | null } | null;
  readonly where: string;
}

export interface SlackSource {
  readonly names: SlackNames;
  readonly people: SlackPeople;
  readonly uploads: ReadonlyMap<string, string>;
}

/** Sentences of Slack about people and settings that do not matter to the discussion. */
const SKIPPED: ReadonlySet<string> = new Set([
  'channel_join',
  'channel_leave',
  'group_join',
  'group_leave',
  'bot_add',
  'bot_remove',
  'bot_enable',
  'bot_disable',
  'pinned_item',
  'unpinned_item',
  'joiner_notification',
  'joiner_notification_for_inviter',
  'app_conversation_join',
  'app_conversation_leave',
]);

/** Sentences about the conversation, which its readers need to understand it. */
const SYSTEM: ReadonlySet<string> = new Set([
  'channel_topic',
  'channel_purpose',
  'channel_name',
  'channel_archive',
  'channel_unarchive',
  'channel_convert_to_private',
  'channel_convert_to_public',
  'channel_posting_permissions',
  'group_topic',
  'group_purpose',
  'group_name',
  'group_archive',
  'group_unarchive',
  'huddle_thread',
  'sh_room_created',
  'reminder_add',
  'ekm_access_denied',
]);

/** Logs of changes; the message itself has its last text. */
const LOGS: ReadonlySet<string> = new Set(['message_changed', 'message_deleted', 'message_replied']);

/** Reads one message of a day; skips it, with the reason, where it cannot be shown. */
export function readMessage(
  value: unknown,
  channel: string,
  source: SlackSource,
  walk: Walk,
  where: string,
): SlackMessage | undefined {
  walk.meet('messages');
  const message = fields(value);
  const skip = (reason: string, detail: string, files = fileValues(message).length): undefined => {
    skipParts(message, files, walk, where);
    walk.skip('messages', reason, detail, where);
  };
  const subtype = text(message.subtype);
  if (message.type !== undefined && message.type !== 'message') {
    return skip('not_a_message', `This is no message but ${String(message.type).slice(0, 50)}.`);
  }
  if (subtype !== null && SKIPPED.has(subtype))
    return skip('system_message', `Slack's own message: ${subtype}.`);
  if (subtype !== null && LOGS.has(subtype)) return skip('edit_log', `A log of a change: ${subtype}.`);
  if (flag(message.is_ephemeral)) return skip('ephemeral', 'One person alone was shown it.');
  const at = slackMicros(message.ts);
  if (at === null)
    return skip('invalid_time', `Its ts is no time: ${JSON.stringify(message.ts)?.slice(0, 50)}.`);
  const deleted = subtype === 'tombstone';
  const { body, mentions } = deleted ? NOTHING : bodyOf(message, subtype, source);
  const { files, links } = filesOf(fileValues(message), source.uploads, walk, where);
  const complete = [body, ...links].filter((it) => it.trim() !== '').join('\n');
  if (complete === '' && files.length === 0 && !deleted) {
    return skip(
      'empty',
      subtype === null ? 'It has neither text nor files.' : `Nothing can be shown of ${subtype}.`,
      0,
    );
  }
  return {
    group: 0,
    at,
    channel,
    ts: message.ts as string,
    author: authorOf(message, source.people, walk),
    body: complete === '' ? null : complete,
    mentions,
    thread: threadOf(message, at, walk, where),
    rootAuthor: idOf(message.parent_user_id),
    editedAt: wireTimeOrNull(slackMicros(fields(message.edited).ts)),
    deleted,
    system: subtype !== null && SYSTEM.has(subtype),
    reactions: reactionsOf(message, source, walk, where),
    files,
    pinned: pinnedOf(message, channel),
    where,
  };
}

const NOTHING: Translated = { body: '', mentions: [] };

function bodyOf(message: Fields, subtype: string | null, source: SlackSource): Translated {
  const { names } = source;
  if (subtype === 'huddle_thread' || subtype === 'sh_room_created') return huddleOf(message, names);
  if (subtype === 'file_comment') {
    return translateMrkdwn(text(fields(message.comment).comment) ?? text(message.text) ?? '', names);
  }
  const written =
    translateBlocks(list(message.blocks), names) ?? translateMrkdwn(text(message.text) ?? '', names);
  if (subtype === 'me_message' && written.body !== '') return { ...written, body: `_${written.body}_` };
  const attached = attachmentsOf(list(message.attachments), names);
  if (attached.length === 0) return written;
  return {
    body: [written.body, ...attached.map((it) => it.body)].filter((it) => it !== '').join('\n\n'),
    mentions: [...written.mentions, ...attached.flatMap((it) => it.mentions)],
  };
}

function huddleOf(message: Fields, names: SlackNames): Translated {
  const room = fields(message.room);
  const people = [...list(room.participant_history), ...list(room.participants)].map(idOf);
  const once = [...new Set(people.filter((it) => it !== null))];
  const who = once.map((id) => `@${names.person(id) ?? id}`).join(', ');
  return { body: who === '' ? 'A huddle.' : `A huddle of ${who}.`, mentions: [] };
}

/** Returns attachments of bots and applications; previews of links repeat other content. */
function attachmentsOf(attachments: readonly unknown[], names: SlackNames): Translated[] {
  return attachments.flatMap((value) => {
    const it = fields(value);
    if (it.from_url !== undefined || it.original_url !== undefined || flag(it.is_msg_unfurl)) return [];
    const title = text(it.title);
    const link = text(it.title_link);
    const written = [
      text(it.pretext),
      title === null ? null : link === null ? `*${title}*` : `<${link}|${title}>`,
      text(it.text),
      ...list(it.fields).map((field) => {
        const { title: name, value: content } = fields(field);
        return [text(name) && `*${text(name)}*`, text(content)].filter(Boolean).join('\n') || null;
      }),
    ].filter((line) => line !== null);
    const blocks = translateBlocks(list(it.blocks), names);
    if (blocks !== undefined) return [blocks];
    const complete = written.length > 0 ? written.join('\n') : (text(it.fallback) ?? '');
    return complete === '' ? [] : [translateMrkdwn(complete, names)];
  });
}

function authorOf(message: Fields, people: SlackPeople, walk: Walk): string {
  const user =
    idOf(message.user) ?? idOf(fields(message.comment).user) ?? idOf(fields(message.room).created_by);
  if (user !== null) {
    const profile = fields(message.user_profile);
    walk.hint(user, text(profile.real_name) ?? text(profile.display_name) ?? text(profile.name));
    return user;
  }
  const shown = text(message.username) ?? text(fields(message.bot_profile).name);
  const bot = idOf(message.bot_id);
  if (bot !== null) {
    const ref = people.ofBot(bot);
    walk.hint(ref, shown);
    return ref;
  }
  const ref = shown === null ? 'unknown' : `bot:${nameOf(shown, 'bot')}`;
  walk.hint(ref, shown ?? 'Unknown author');
  return ref;
}

/** Returns the root. A root names itself; an id after the reply's own is the export's mistake. */
function threadOf({ thread_ts: thread, ts }: Fields, at: Micros, walk: Walk, where: string): string | null {
  if (typeof thread !== 'string' || thread === ts) return null;
  const root = slackMicros(thread);
  if (root !== null && root < at) return thread;
  walk.note('invalid_thread', `Its thread_ts names no earlier message: ${thread.slice(0, 50)}.`, where);
  return null;
}

function reactionsOf(message: Fields, { names }: SlackSource, walk: Walk, where: string): ArchivedReaction[] {
  return list(message.reactions).flatMap((value) => {
    const { name, users, count } = fields(value);
    const people = list(users)
      .map(idOf)
      .filter((it) => it !== null);
    const all = Math.max(
      people.length,
      Number.isSafeInteger(count) ? Math.min(count as number, MAX_COUNT) : 0,
    );
    walk.meet('reactions', all);
    const emoji = typeof name === 'string' ? names.emojis.find(name) : undefined;
    if (emoji === undefined) {
      walk.skip(
        'reactions',
        'custom_emoji',
        `:${String(name).slice(0, 80)}: is no emoji of Unicode.`,
        where,
        all,
      );
      return [];
    }
    const unnamed = all - people.length;
    walk.skip(
      'reactions',
      'unnamed',
      `The export does not name all who reacted with ${emoji}.`,
      where,
      unnamed,
    );
    return people.map((person) => ({ emoji, person, created_at: null }));
  });
}

/** No workspace has more people. */
const MAX_COUNT = 10_000_000;

/** Skips the reactions and files of a skipped message. */
function skipParts(message: Fields, files: number, walk: Walk, where: string): void {
  walk.meet('files', files);
  walk.skip('files', 'message_skipped', 'Its message was skipped.', where, files);
  for (const value of list(message.reactions)) {
    const { users } = fields(value);
    walk.meet('reactions', list(users).length);
    walk.skip('reactions', 'message_skipped', 'Its message was skipped.', where, list(users).length);
  }
}

function pinnedOf(message: Fields, channel: string): SlackMessage['pinned'] {
  if (!list(message.pinned_to).includes(channel)) return null;
  const { pinned_by: by, pinned_ts: at } = fields(message.pinned_info);
  const seconds = typeof at === 'number' ? at : Number(at);
  const known = Number.isSafeInteger(seconds) && seconds > 0 && seconds < 4e9;
  return { by: idOf(by), at: known ? wireTime(seconds * 1_000_000) : null };
}
