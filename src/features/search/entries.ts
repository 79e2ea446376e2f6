import { FOLDING } from '@parley/protocol/folding.ts';
import { IS_MEMBER } from '../../core/resources/membership.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { earlierDocumentWords } from './earlier-words.ts';
import { documentWords } from './words.ts';

/** A row of search_entries. */
interface Entry {
  readonly id: string;
  readonly conversation_id: string;
  readonly account_id: string;
  readonly at: string;
  /** The text of a tsvector. */
  readonly terms: string;
}

/** The parts by which a message or a conversation is found. */
interface Indexed extends Omit<Entry, 'terms'> {
  readonly text: string;
  /** Null for a conversation, like the next. */
  readonly author_id: string | null;
  readonly sender_id: string | null;
  readonly has_attachments: boolean;
}

/**
 * Writes the entries of messages and conversations in their present state. Those that cannot be
 * found have no entry: the change that hid them has deleted it.
 */
export async function writeEntries(tx: Tx, ids: readonly string[]): Promise<void> {
  const indexed = await tx.query(READ_INDEXED, ids);
  await tx.query(WRITE_ENTRIES, JSON.stringify(indexed.map(entryOf)));
}

/**
 * Writes the words of entries by the present folding, and removes those of what cannot be found.
 * Inserts none, which is refused where the account moves to another cell.
 */
export async function foldEntries(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const indexed = await tx.query(READ_INDEXED, ids);
  await tx.query(FOLD_ENTRIES, JSON.stringify(indexed.map(entryOf)));
  await tx.query(REMOVE_UNFOLDED, ids);
}

function entryOf(row: Indexed): Entry {
  const { id, conversation_id, account_id, at, text, author_id, sender_id, has_attachments } = row;
  const lexemes = lexemesOf(account_id);
  const lexemeOf = id === conversation_id ? lexemes.name : lexemes.word;
  let terms = quoted(lexemes.conversation(conversation_id));
  if (author_id !== null) terms += ` ${quoted(lexemes.author(author_id))}`;
  if (sender_id !== null && sender_id !== author_id) terms += ` ${quoted(lexemes.author(sender_id))}`;
  if (has_attachments) terms += ` ${quoted(lexemes.file)}`;
  // One text, because a set of lexemes and a list of their quoted forms were a tenth of the garbage
  // of a send. Words have no character to escape, and Postgres removes duplicates.
  for (const words of [documentWords(text), earlierDocumentWords(text)]) {
    if (words.length > 0) terms += ` '${lexemeOf(words.join(`' '${lexemeOf('')}`))}'`;
  }
  return { id, conversation_id, account_id, at, terms };
}

/**
 * Returns the lexemes of an account's entries (search_entries.terms). Words begin with the end of
 * the account's id, so that a query reads no postings of other accounts. Only the row decides which
 * account it belongs to.
 */
export function lexemesOf(accountId: string): Lexemes {
  // Messages of one account are indexed consecutively.
  if (last?.accountId !== accountId) last = { accountId, lexemes: makeLexemes(accountId) };
  return last.lexemes;
}

type Lexemes = ReturnType<typeof makeLexemes>;

let last: { readonly accountId: string; readonly lexemes: Lexemes } | undefined;

function makeLexemes(accountId: string) {
  const code = accountId.slice(-CODE_LENGTH);
  return {
    /** A word of a message. */
    word: (text: string) => `${code}:${text}`,
    /** A word of a conversation's title, or of the name or address of a member. */
    name: (text: string) => `${code}^${text}`,
    conversation: (id: string) => `#${id}`,
    /** The author of a message, or the actor whose name it is shown under. */
    author: (id: string) => `@${id}`,
    /** Marks messages with an attached file. */
    file: `${code}%`,
  };
}

/** Returns a lexeme in the text form of a tsvector or a tsquery. */
export function quoted(lexeme: string): string {
  return `'${lexeme.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

const CODE_LENGTH = 6;

/** SQL: when a message was sent. */
export const SENT_AT = "coalesce((m.outcome ->> 'at')::timestamptz, m.created_at)";

/** SQL: whether a search can find a message. The service's own have no searchable words. */
export const IS_SEARCHABLE = `m.sequence IS NOT NULL AND m.status = 'sent' AND m.deleted_at IS NULL
      AND m.kind <> 'system_event'`;

/** Characters of a text that are indexed and searched. */
export const SEARCHED_CHARACTERS = 20_000;

/** SQL: the members by whom a conversation (`c`) is found: the earliest ones. */
export const FOUND_MEMBERS = `SELECT a.id, a.name, a.handle FROM participants p JOIN actors a ON a.id = p.actor_id
        WHERE p.conversation_id = c.id AND p.${IS_MEMBER} ORDER BY p.created_at, p.id LIMIT 500`;

const READ_INDEXED = statement<[ids: readonly string[]], Indexed>('search-read-indexed')`
    SELECT m.id, m.conversation_id, m.account_id, ${SENT_AT} AS at,
      concat_ws(' ', left(m.body, ${SEARCHED_CHARACTERS}), m.subject) AS text, m.author_id, m.sender_id,
      m.has_attachments
    FROM messages m WHERE m.id = ANY($1) AND ${IS_SEARCHABLE}
    UNION ALL
    SELECT c.id, c.id, c.account_id, c.created_at, concat_ws(' ', c.title, (
        SELECT string_agg(concat_ws(' ', a.name, a.handle), ' ') FROM (${FOUND_MEMBERS}) a
      )), NULL, NULL, false
    FROM conversations c WHERE c.id = ANY($1)`;

/** SQL: whether an entry has the words of an earlier folding. */
export const IS_EARLIER = `folding < ${FOLDING}`;

const GIVEN = `json_to_recordset($1::json) AS n(id text, conversation_id text, account_id text,
      at timestamptz, terms tsvector)`;

// An update of the words gives an entry the first folding, since a node of the version before names
// none. A negative number says which one it is (migrations/0054).
const WRITE_ENTRIES = statement<[entries: string]>('search-write-entries')`
    INSERT INTO search_entries AS e (id, conversation_id, account_id, at, terms, folding)
    SELECT n.*, ${FOLDING} FROM ${GIVEN}
    ON CONFLICT (id) DO UPDATE SET terms = excluded.terms, folding = -excluded.folding
      WHERE e.terms <> excluded.terms OR e.folding <> excluded.folding`;

const FOLD_ENTRIES = statement<[entries: string]>('search-fold-entries')`
    UPDATE search_entries e SET terms = n.terms, folding = -${FOLDING} FROM ${GIVEN} WHERE e.id = n.id`;

const REMOVE_UNFOLDED = statement<[ids: readonly string[]]>('search-remove-unfolded')`
    DELETE FROM search_entries WHERE id = ANY($1) AND ${IS_EARLIER}`;
