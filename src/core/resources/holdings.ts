import type { ChangeEventName } from '@parley/protocol/socket/events.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Db, Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';
import type { ActorRow } from './actor.ts';
import type { Downloads, StoredFile } from './attachment.ts';
import type { ConversationRow } from './conversation.ts';

/**
 * The data of a slice about conversations, messages, persons and accounts: its removal and its
 * export. Retention, redaction, erasure and removal walk the holdings of all slices
 * (core/features/all-holdings.ts); each function runs in the transaction of its caller and bounds
 * its own work. test/compliance/holdings.test.ts compares them with the schema.
 */
export interface Holdings {
  /** In an order in which no table refers to a later one. */
  readonly tables: { readonly [Table in keyof Schema]?: HeldTable<keyof Schema[Table]> };
  /** Purges rows of deleted messages that are not removed with them. */
  purgeMessages?(tx: Tx, conversationId: string, messages: readonly PurgedMessage[]): Promise<RemovedRows>;
  /** Purges up to `limit` rows of a conversation that is removed as a whole. */
  purgeConversation?(tx: Tx, conversationId: string, limit: number): Promise<RemovedRows>;
  /** Removes up to `limit` rows of an account that are older than its policy. */
  readonly expire?: Readonly<Partial<Record<Expiring, Expire>>>;
  /** Counts up to `limit` rows that `expire` would remove. */
  readonly count?: Readonly<Partial<Record<Expiring, Count>>>;
  /** Returns the age of the oldest row of each kind, in seconds, or null if there is none. */
  readAges?(db: Db, accountId: string): Promise<Readonly<Partial<Record<Expiring, number | null>>>>;
  /** Forgets files whose content is removed. */
  forgetFiles?(tx: Tx, keys: readonly string[]): Promise<void>;
  /** Ends all work of an account. Returns whether a node still has to end some work. */
  endWorkOf?(tx: Tx, accountId: string): Promise<boolean>;
  /** Ends all work of a conversation that this actor deleted. May be called again. */
  endWorkIn?(database: Database, conversation: DeletedConversation): Promise<void>;
  /** Returns the copies of a message whose content is removed. */
  copiesOf?(tx: Tx, messageId: string): Promise<Copies>;
  /** Removes the texts of a message from work that may have read it. */
  withdrawTexts?(tx: Tx, content: WithdrawnContent, texts: readonly string[]): Promise<WithdrawnTexts>;
  /** Ends work that may have read a message. Returns whether a node still has to end some work. */
  endReaders?(tx: Tx, by: string, ids: readonly string[]): Promise<boolean>;
  /** Removes everything that ended work wrote. Returns the notifications that changed. */
  withdrawReaders?(tx: Tx, ids: readonly string[]): Promise<readonly string[]>;
  /** Blanks the profile of a person after the removal of the `removed` rows. */
  blankPerson?(
    tx: Tx,
    person: Pick<ActorRow, 'id' | 'account_id' | 'customer' | 'external_id'>,
  ): Promise<void>;
  /** Erases a person from everything else, in transactions that can be repeated. */
  erasePerson?(database: Database, person: ErasedPerson): Promise<void>;
  /**
   * Gives all data of a person to another person, and adds to `events`. Called again for data that
   * was under way.
   */
  movePerson?(tx: Tx, move: PersonMove): Promise<void>;
  /** The content of exports, by the noun of its file. */
  readonly exportsOfPerson?: Readonly<Record<string, Exported<ExportedPerson>>>;
  readonly exportsOfConversation?: Readonly<Record<string, Exported<ConversationRow>>>;
}

/** A table, with how its rows go with the resources that their columns name. */
export type HeldTable<Column extends PropertyKey = string> = {
  /** When they are removed with their account; absent if they go with rows of another table. */
  readonly account?: Stage | readonly [Stage, rows: string];
  /** The column with the key of a file that goes with the row. */
  readonly file?: Column;
  /** The noun of the file of exports that shows them. */
  readonly exported?: string;
  /**
   * How rows move with their account to another installation (features/cells/). Default: rows with
   * their own `account_id` move, other rows stay.
   */
  readonly moved?: Moved;
} & { readonly [Name in Column]?: Going };

/** How the rows of an account are found, and which of them move at the last moment. */
export interface Moved {
  /**
   * The column that names the row of `of` whose account is the row's own. Default: `account_id`.
   */
  readonly by?: string;
  /** A table with `account_id`, in front of this one; absent where `by` is the account. */
  readonly of?: string;
  /**
   * SQL over `t`: rows that make nodes begin work, or that let the account be used. They come with
   * the last rows, when the account is opened at the target.
   */
  readonly last?: string;
  /** The column with the key of a file, and SQL for its content type. */
  readonly file?: readonly [key: string, contentType: string];
}

/** Returns the SQL behind `FROM <table> t` that finds the rows of the account `$1`. */
export function rowsOf({ by = 'account_id', of }: Moved): string {
  return of === undefined
    ? `WHERE t.${by} = $1`
    : `WHERE t.${by} IN (SELECT id FROM ${of} WHERE account_id = $1)`;
}

export const OF_CONVERSATION: Moved = { by: 'conversation_id', of: 'conversations' };
export const OF_ACTOR: Moved = { by: 'actor_id', of: 'actors' };

/**
 * When rows of an account are removed: `first` if they start work, with the `content` of its
 * conversations, or `last`, with what others refer to. A tuple adds the SQL behind the table `t`
 * that finds the rows, unless `moved` or their own `account_id` does.
 */
export type Stage = 'first' | 'content' | 'last';

/**
 * How a row goes with the message, the conversation or the person that a column names:
 * - `removed`: features/compliance/remove-rows.ts deletes it;
 * - `purged`: `purgeMessages` or `purgeConversation` deletes or blanks it;
 * - `erased`: `blankPerson` or `erasePerson` deletes or blanks it.
 */
type Going = 'removed' | 'purged' | 'erased';

/** A purged message, and the moment from which the ids of its notifications are made. */
export interface PurgedMessage {
  readonly id: string;
  readonly at: string;
}

export type Expiring = 'files' | 'notifications' | 'runs';

export type Expire = (tx: Tx, accountId: string, days: number, limit: number) => Promise<RemovedRows>;

export type Count = (db: Db, accountId: string, days: number, limit: number) => Promise<number>;

/**
 * Returns a count of `rows`: SQL of up to $3 rows of the account $1 that are older than $2 days.
 */
export function countOf(name: string, rows: string): Count {
  const count = statement<[accountId: string, days: number, limit: number], { count: number }>(name)`
    SELECT count(*) AS count FROM (${rows}) AS old`;
  return async (db, ...policy) => (await db.query(count, ...policy))[0]!.count;
}

export interface RemovedRows {
  readonly rows: number;
  /** How many of `rows` are runs or notifications. */
  readonly runs?: number;
  readonly notifications?: number;
  /** The keys of the files that are now unreferenced. */
  readonly keys?: readonly string[];
}

interface DeletedConversation extends Pick<ConversationRow, 'id' | 'account_id'> {
  /** Actor id. */
  readonly by: string;
}

export interface Copies {
  readonly ids: readonly string[];
  readonly texts: readonly (string | null)[];
}

/** A message whose content is removed. */
export interface WithdrawnContent {
  readonly accountId: string;
  readonly conversationId: string;
  /** The ids of the message, of its attachments and its copies. */
  readonly ids: readonly string[];
  /** ISO 8601: when the message was written. Work that had ended by then cannot contain it. */
  readonly since: string;
}

export interface WithdrawnTexts {
  /** The resources and the notifications that changed. */
  readonly ids: readonly string[];
  readonly notificationIds: readonly string[];
  /** The work that may have read the message and had not ended. */
  readonly openIds: readonly string[];
}

export interface ErasedPerson {
  readonly accountId: string;
  /** Actor id. */
  readonly id: string;
  /** Name and addresses. */
  readonly names: readonly string[];
  /** The names that are long enough to be found within texts. */
  readonly texts: readonly string[];
  /** Finds the names in titles that Parley wrote, in Postgres; null without names. */
  readonly title: string | null;
  /** Whether the messages that the person wrote are removed as well. */
  readonly removesMessages: boolean;
  readonly signal: AbortSignal;
}

/** Two customers that are the same person: actor ids. */
export interface PersonMove {
  readonly from: string;
  readonly to: string;
  /** The conversations of which `from` is or was a participant, locked. */
  readonly conversationIds: readonly string[];
  /** Changes in conversations, published once no socket of `from` is left. */
  readonly events: MovedEvent[];
}

/** A change of `core/events/changes.ts`. */
export interface MovedEvent {
  readonly event: ChangeEventName;
  readonly id: string;
  readonly stream: string;
}

interface ExportedPerson extends Pick<ActorRow, 'account_id' | 'id' | 'handle' | 'proven_address'> {
  readonly email: string | null;
}

/** Returns the lines of a file in pages, or its only document. */
export type Exported<About> = (
  db: Db,
  files: ExportFiles,
  about: About,
) => AsyncIterable<readonly object[]> | Promise<object>;

export interface ExportFiles {
  /** Replaces the store of files where resources are presented. */
  readonly downloads: Downloads;
  /** The number of lines of each noun, and of what they contain. */
  readonly counts: Record<string, number>;
  /** Adds the file to the archive. Returns its path there. */
  refer(file: Pick<StoredFile, 'key'>): string;
  /** Announces `more` steps. */
  expect(more: number): void;
  step(done: number): void;
}
