import type { IncompleteReason } from '@parley/protocol/resources/agent-run.ts';

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

export interface PersonRecord {
  readonly type: 'person';
  readonly ref: string;
  /**
   * `placeholder`: other records refer to the person and the archive does not describe it. It is
   * not counted under `people`.
   */
  readonly kind: 'user' | 'guest' | 'bot' | 'customer' | 'placeholder';
  /** One line, 1 to 200 characters. */
  readonly name: string;
  /** The name after an `@` in the source. */
  readonly handle: string | null;
  /** In lower case. Null where there is none, and where several active people have the same. */
  readonly email: string | null;
  /** False where the source says that the address was not confirmed. */
  readonly email_verified: boolean;
  /** Whether the source had deleted or deactivated the person. */
  readonly deactivated: boolean;
}

export interface ConversationRecord {
  readonly type: 'conversation';
  readonly ref: string;
  /**
   * Other ids of the same conversation: direct messages of the same people are one conversation.
   */
  readonly merged: readonly string[];
  /** `direct` has one or two members, `group` some without a name, `channel` has a name. */
  readonly kind: 'direct' | 'group' | 'channel';
  readonly private: boolean;
  /** `customer` for a case of Parley, of which customers see some of the messages. */
  readonly audience: 'internal' | 'customer';
  /** One line, 200 characters at most. Null for `direct` and `group`. */
  readonly title: string | null;
  /** What the conversation is about, in the words of its members. */
  readonly description: string | null;
  readonly archived: boolean;
  /** Null where the source does not say, or says 0. */
  readonly created_at: string | null;
  readonly creator: string | null;
  /** Each person once. Authors who had left are not among them. */
  readonly members: readonly ArchivedMember[];
}

export interface ArchivedMember {
  readonly person: string;
  readonly role: 'owner' | 'admin' | 'member' | 'viewer';
}

export interface MessageRecord {
  readonly type: 'message';
  /** Unique in the archive, 255 characters at most: `slack:C024BE91L:1405895017.000506`. */
  readonly client_message_id: string;
  /**
   * Whether it is a message of the archive. False for what the reader adds: a further part of a
   * message that is too long or has too many files, and the tombstone of a missing thread root.
   */
  readonly counted: boolean;
  readonly conversation: string;
  readonly author: string;
  readonly created_at: string;
  /** Markdown of 40,000 characters at most. Null for messages of files alone, and tombstones. */
  readonly body: string | null;
  /** `client_message_id` of the root of the thread, or of the message that is replied to. */
  readonly reply_to: string | null;
  readonly edited_at: string | null;
  /** Set for a tombstone. */
  readonly deleted_at: string | null;
  /** People, each once, 50 at most. */
  readonly mentions: readonly string[];
  /** 20 different emojis at most, in the form of `toEmoji`; an emoji and person at most once. */
  readonly reactions: readonly ArchivedReaction[];
  /** 20 at most. */
  readonly files: readonly ArchivedFile[];
  readonly pin: ArchivedPin | null;
  /** Whether the customers of a case were shown it; `internal` in all other conversations. */
  readonly audience: 'internal' | 'customer';
  /** A sentence of the source about the conversation, such as a change of its topic. */
  readonly system: boolean;
  /** Why the text of an agent is not whole, where the source says so. */
  readonly incomplete?: IncompleteReason | null | undefined;
  /** The place in the archive, for people: `general/2024-01-31.json[12]`. */
  readonly where: string;
}

export interface ArchivedReaction {
  readonly emoji: string;
  readonly person: string;
  /** Null where the source does not say. */
  readonly created_at: string | null;
}

export interface ArchivedFile {
  /** Id of the source, unique in the message. */
  readonly id: string;
  /** One line without `/` and `\`, 1 to 255 characters. */
  readonly name: string;
  /** As the source says; null if it does not. */
  readonly content_type: string | null;
  /** In bytes, as the source says; null if it does not. */
  readonly size: number | null;
  /** `entry` is read with `ArchiveReader.openFile`. A `url` may contain the token that opens it. */
  readonly source: { readonly entry: string } | { readonly url: string };
}

export interface ArchivedPin {
  readonly by: string | null;
  readonly at: string | null;
}

/** How far a person has read. It comes after the messages of which it says that they were read. */
export interface ReadPositionRecord {
  readonly type: 'read_position';
  readonly conversation: string;
  readonly person: string;
  /**
   * `message` is the `client_message_id` of the last one that was read; `at` the time of reading.
   */
  readonly through: { readonly message: string } | { readonly at: string };
}

/** Something of the archive that no record contains. */
export interface SkippedRecord {
  readonly type: 'skipped';
  readonly of: Counted;
  readonly count: number;
  /** A stable word, to count by: `unknown_emoji`. */
  readonly reason: string;
  /** The same for people, with the name or value in question; a whole sentence. */
  readonly detail: string;
  readonly where: string;
}

/** Something that was imported, but not as it was. */
export interface NoteRecord {
  readonly type: 'note';
  readonly reason: string;
  readonly detail: string;
  readonly where: string;
}
