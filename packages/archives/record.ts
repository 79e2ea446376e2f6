import { INCOMPLETE_REASONS } from '@parley/protocol/resources/agent-run.ts';
import { Body, Nullable, OneOf } from '@parley/protocol/schema/schema.ts';
import { type Static, Type } from 'typebox';

/**
 * What an archive of another chat, or of Parley, contains, in one form for all sources. Readers
 * (`reader.ts`) give it as a stream with these promises:
 *
 * - The same archive gives the same records in the same order, so that a count of records is enough
 *   to continue after an interruption.
 * - A person or conversation comes before the first record that refers to it, and once. It may come
 *   late: a person who is referred to and not listed comes right before the first reference.
 * - The messages of a conversation come in the order of their times. Conversations may alternate.
 * - A message comes after the one that it replies to.
 * - Everything is counted: what the reader has found of a kind (`ArchiveReader.found`) is the sum
 *   of what the records contain of it and of what `skipped` records say.
 *
 * Times are RFC 3339 in UTC with six decimals, as text. Refs are ids of the source: unique among
 * the people, or the conversations, of one archive, and no ids of Parley.
 */
export type ArchiveRecord =
  | PersonRecord
  | ConversationRecord
  | MessageRecord
  | ReadPositionRecord
  | SkippedRecord
  | NoteRecord;

export const ARCHIVE_SOURCES = ['slack', 'mattermost', 'zulip', 'parley'] as const;
export type ArchiveSource = (typeof ARCHIVE_SOURCES)[number];

/** What the report counts. A `document` is a file of JSON, or a line of a file of JSON Lines. */
export const COUNTED = [
  'people',
  'conversations',
  'messages',
  'reactions',
  'files',
  'pins',
  'read_positions',
  'documents',
] as const;
export type Counted = (typeof COUNTED)[number];
export type Counts = Readonly<Record<Counted, number>>;

export function noCounts(): Record<Counted, number> {
  return Object.fromEntries(COUNTED.map((of) => [of, 0])) as Record<Counted, number>;
}

/** Returns what a record gives of what is counted; of parts and placeholders nothing. */
export function countsOf(record: ArchiveRecord): Partial<Counts> {
  if (record.type === 'person') return { people: record.kind === 'placeholder' ? 0 : 1 };
  if (record.type === 'conversation') return { conversations: 1 + record.merged.length };
  if (record.type === 'read_position') return { read_positions: 1 };
  if (record.type !== 'message') return {};
  return {
    messages: record.counted ? 1 : 0,
    reactions: record.reactions.length,
    files: record.files.length,
    pins: record.pin === null ? 0 : 1,
  };
}

/** The records are schemas, since anyone may have written those of a converted archive. */
type Frozen<T> = T extends object ? { readonly [Key in keyof T]: Frozen<T[Key]> } : T;

/** Text without control characters and halves of characters. */
function line(characters: number, not = '') {
  return Type.String({ pattern: `^[^\\p{Cc}\\p{Cs}${not}]{1,${characters}}$` });
}

/** Some sources make ids of several. */
const Ref = line(1_500);
const Name = line(500, '\\p{Zl}\\p{Zp}');
const TextOrNone = Nullable(Type.String());
const Time = Type.String({ format: 'date-time', pattern: '^(19[7-9]|20\\d)\\d-.*\\.\\d{6}Z$' });
const TimeOrNone = Nullable(Time);
const MessageId = line(255);

export const PersonRecord = Body({
  type: Type.Literal('person'),
  ref: Ref,
  /**
   * `placeholder`: other records refer to the person and the archive does not describe it. It is
   * not counted under `people`.
   */
  kind: OneOf(['user', 'guest', 'bot', 'customer', 'placeholder']),
  name: Name,
  /** The name after an `@` in the source. */
  handle: TextOrNone,
  /** In lower case. Null where there is none, and where several active people have the same. */
  email: Nullable(Type.String({ maxLength: 254, pattern: '^[^\\s@\\p{Cc}]+@[^\\s@\\p{Cc}]+$' })),
  /** False where the source says that the address was not confirmed. */
  email_verified: Type.Boolean(),
  /** Whether the source had deleted or deactivated the person. */
  deactivated: Type.Boolean(),
});
export type PersonRecord = Frozen<Static<typeof PersonRecord>>;

const ArchivedMember = Body({ person: Ref, role: OneOf(['owner', 'admin', 'member', 'viewer']) });
export type ArchivedMember = Frozen<Static<typeof ArchivedMember>>;

export const ConversationRecord = Body({
  type: Type.Literal('conversation'),
  ref: Ref,
  /**
   * Other ids of the same conversation: direct messages of the same people are one conversation.
   */
  merged: Type.Array(Ref),
  /** `direct` has one or two members, `group` some without a name, `channel` has a name. */
  kind: OneOf(['direct', 'group', 'channel']),
  private: Type.Boolean(),
  /** `customer` for a case of Parley, of which customers see some of the messages. */
  audience: OneOf(['internal', 'customer']),
  /** Null for `direct` and `group`. */
  title: Nullable(Name),
  /** What the conversation is about, in the words of its members. */
  description: TextOrNone,
  archived: Type.Boolean(),
  /** Null where the source does not say, or says 0. */
  created_at: TimeOrNone,
  creator: Nullable(Ref),
  /** Each person once. Authors who had left are not among them. */
  members: Type.Array(ArchivedMember),
});
export type ConversationRecord = Frozen<Static<typeof ConversationRecord>>;

/** `created_at` is null where the source does not say when. */
const ArchivedReaction = Body({ emoji: Type.String(), person: Ref, created_at: TimeOrNone });
export type ArchivedReaction = Frozen<Static<typeof ArchivedReaction>>;

const ArchivedFile = Body({
  /** Id of the source, unique in the message. */
  id: Ref,
  name: line(255, '/\\\\\\p{Zl}\\p{Zp}'),
  /** As the source says; null if it does not. */
  content_type: Nullable(Type.String({ pattern: '^[\\w.+-]{1,60}/[\\w.+-]{1,60}$' })),
  /** In bytes, as the source says; null if it does not. */
  size: Nullable(Type.Integer()),
  /** `entry` is read with `ArchiveReader.openFile`. A `url` may contain the token that opens it. */
  source: Type.Union([Body({ entry: Type.String() }), Body({ url: Type.String({ pattern: '^https?://' }) })]),
});
export type ArchivedFile = Frozen<Static<typeof ArchivedFile>>;

const ArchivedPin = Body({ by: Nullable(Ref), at: TimeOrNone });
export type ArchivedPin = Frozen<Static<typeof ArchivedPin>>;

export const MessageRecord = Body({
  type: Type.Literal('message'),
  /** Unique in the archive: `slack:C024BE91L:1405895017.000506`. */
  client_message_id: MessageId,
  /**
   * Whether it is a message of the archive. False for what the reader adds: a further part of a
   * message that is too long or has too many files, and the tombstone of a missing thread root.
   */
  counted: Type.Boolean(),
  conversation: Ref,
  author: Ref,
  created_at: Time,
  /** Markdown of 40,000 characters at most. Null for messages of files alone, and tombstones. */
  body: TextOrNone,
  /** `client_message_id` of the root of the thread, or of the message that is replied to. */
  reply_to: Nullable(MessageId),
  edited_at: TimeOrNone,
  /** Set for a tombstone. */
  deleted_at: TimeOrNone,
  /** People, each once, 50 at most. */
  mentions: Type.Array(Ref),
  /** 20 different emojis at most, in the form of `toEmoji`; an emoji and person at most once. */
  reactions: Type.Array(ArchivedReaction),
  /** 20 at most. */
  files: Type.Array(ArchivedFile),
  pin: Nullable(ArchivedPin),
  /** Whether the customers of a case were shown it; `internal` in all other conversations. */
  audience: OneOf(['internal', 'customer']),
  /** A sentence of the source about the conversation, such as a change of its topic. */
  system: Type.Boolean(),
  /** Why the text of an agent is not whole, where the source says so. */
  incomplete: Nullable(OneOf(INCOMPLETE_REASONS)),
  /** The place in the archive, for people: `general/2024-01-31.json[12]`. */
  where: Type.String(),
});
export type MessageRecord = Frozen<Static<typeof MessageRecord>>;

/** How far a person has read. It comes after the messages of which it says that they were read. */
export const ReadPositionRecord = Body({
  type: Type.Literal('read_position'),
  conversation: Ref,
  person: Ref,
  /**
   * `message` is the `client_message_id` of the last one that was read; `at` the time of reading.
   */
  through: Type.Union([Body({ message: MessageId }), Body({ at: Time })]),
});
export type ReadPositionRecord = Frozen<Static<typeof ReadPositionRecord>>;

const Remark = {
  /** A stable word, to count by: `unknown_emoji`. */
  reason: Type.String({ pattern: '^[a-z_]{1,50}$' }),
  /** The same for people, with the name or value in question; a whole sentence. */
  detail: Type.String(),
  where: Type.String(),
};

/** Something of the archive that no record contains. */
export const SkippedRecord = Body({
  type: Type.Literal('skipped'),
  of: OneOf(COUNTED),
  count: Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 }),
  ...Remark,
});
export type SkippedRecord = Frozen<Static<typeof SkippedRecord>>;

/** Something that was imported, but not as it was. */
export const NoteRecord = Body({ type: Type.Literal('note'), ...Remark });
export type NoteRecord = Frozen<Static<typeof NoteRecord>>;
