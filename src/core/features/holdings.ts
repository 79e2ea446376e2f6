import type { Database } from '../../platform/db/connection/database.ts';
import type { Db, Tx } from '../../platform/db/connection/handle.ts';
import type { Downloads, StoredFile } from '../resources/attachment.ts';

/**
 * What a feature stores about conversations, messages, persons and accounts: how it is removed and
 * exported. Retention, redaction, erasure and removal walk the holdings of all features; each
 * function runs in the transaction of its caller and bounds its own work.
 */
export interface Holdings {
  /**
   * Removes what belongs to deleted messages. Returns the keys of the files that are now
   * unreferenced.
   */
  purgeMessages?(tx: Tx, conversationId: string, messageIds: readonly string[]): Promise<readonly string[]>;
  /** Removes up to `limit` rows of a conversation that is removed as a whole. */
  purgeConversation?(tx: Tx, conversationId: string, limit: number): Promise<RemovedRows>;
  /** Removes up to `limit` rows of an account that are older than its policy. */
  readonly expire?: Readonly<Partial<Record<Expiring, Expire>>>;
  /** Returns the age of the oldest row of each kind, in seconds, or null if there is none. */
  readAges?(db: Db, accountId: string): Promise<Readonly<Partial<Record<Expiring, number | null>>>>;
  /** Forgets files whose content is removed. */
  forgetFiles?(tx: Tx, keys: readonly string[]): Promise<void>;
  /** Ends all work of an account. Returns whether a node still has to end some. */
  endWorkOf?(tx: Tx, accountId: string): Promise<boolean>;
  /** Ends all work of a conversation that this actor deleted. May be called again. */
  endWorkIn?(database: Database, conversation: DeletedConversation): Promise<void>;
  /** Returns the copies of a message whose content is removed. */
  copiesOf?(tx: Tx, messageId: string): Promise<Copies>;
  /** Removes the texts of a message from work that may have read it. */
  withdrawTexts?(tx: Tx, content: WithdrawnContent, texts: readonly string[]): Promise<WithdrawnTexts>;
  /** Ends the work that may have read a message. Returns whether a node still has to end some. */
  endReaders?(tx: Tx, by: string, ids: readonly string[]): Promise<boolean>;
  /** Removes everything that ended work wrote. Returns the notifications that changed. */
  withdrawReaders?(tx: Tx, ids: readonly string[]): Promise<readonly string[]>;
  /** Removes what belongs to this person alone, with its profile. */
  forgetPerson?(tx: Tx, userId: string): Promise<void>;
  /** Removes the data of a person from everything else, in transactions that can be repeated. */
  erasePerson?(database: Database, person: ErasedPerson): Promise<void>;
  /** The lines of exports, by the noun of their file. */
  readonly exportsOfPerson?: Readonly<Record<string, ExportLines<ExportedPerson>>>;
  readonly exportsOfConversation?: Readonly<Record<string, ExportLines<{ readonly id: string }>>>;
}

export type Expiring = 'files' | 'runs';

export type Expire = (tx: Tx, accountId: string, days: number, limit: number) => Promise<RemovedRows>;

export interface RemovedRows {
  readonly rows: number;
  /** How many of `rows` are runs. */
  readonly runs: number;
  /** The keys of the files that are now unreferenced. */
  readonly keys: readonly string[];
}

export interface DeletedConversation {
  readonly id: string;
  readonly account_id: string;
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
  /** Whether the messages that the person wrote are removed as well. */
  readonly removesMessages: boolean;
  readonly signal: AbortSignal;
}

export interface ExportedPerson {
  readonly account_id: string;
  readonly id: string;
  readonly handle: string | null;
  readonly email: string | null;
}

export type ExportLines<About> = (
  db: Db,
  files: ExportFiles,
  about: About,
) => AsyncIterable<readonly object[]>;

export interface ExportFiles {
  /** Replaces the store of files where resources are presented. */
  readonly downloads: Downloads;
  /** Adds the file to the archive. Returns its path there. */
  refer(file: Pick<StoredFile, 'key'>): string;
}
