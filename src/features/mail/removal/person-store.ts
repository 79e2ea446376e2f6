import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { setTouched } from '../../../platform/db/tables/touched.ts';
import { SHOWN_COLUMNS, type ShownMail } from '../mails/mail-store.ts';

/**
 * The mails of a person: mails that the person wrote or received as a user, or that have one of the
 * person's addresses.
 */
export interface PersonOfMails {
  readonly accountId: string;
  /** Actor id. */
  readonly id: string;
  /** In lower case. */
  readonly addresses: readonly string[];
}

/** Yields the mails of a person in pages, oldest first. */
export async function* mailsOfPerson(
  db: Db,
  { accountId, id, addresses }: PersonOfMails,
): AsyncIterable<ShownMail[]> {
  for (let after: [time: string, id: string] | null = ['-infinity', '']; after !== null; ) {
    const rows: ShownMail[] = await db.query(READ_OF_PERSON, accountId, id, addresses, ...after, PAGE);
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    after = last === undefined || rows.length < PAGE ? null : [last.created_at, last.id];
  }
}

/**
 * Removes the name and the addresses of a person from these mails, and the references to their
 * sources, whose headers have both. Returns the keys of the sources. Mails of conversations under
 * legal hold stay unchanged, and no hold is set on other conversations until the transaction ends.
 * `texts` also removes the person's words from mails without a message.
 */
export async function erasePersonFromMails(
  tx: Tx,
  { id, addresses }: PersonOfMails,
  mailIds: readonly string[],
  texts: boolean,
): Promise<string[]> {
  const rows = await tx.query(ERASE, mailIds, id, addresses, texts);
  return rows.flatMap(({ source_key }) => source_key ?? []);
}

/**
 * Removes the addresses from the copies that these messages name, except in held conversations.
 * Must be called before their mails are written, because a message is locked before its mail.
 * Returns the messages that changed, with their conversations.
 */
export function eraseFromCopies(
  tx: Tx,
  addresses: readonly string[],
  messageIds: readonly string[],
): Promise<{ readonly id: string; readonly stream: string }[]> {
  return tx.query(ERASE_FROM_COPIES, addresses, messageIds);
}

/** Removes the addresses from the recipients of the account's threads, except held ones. */
export async function eraseFromThreads(
  tx: Tx,
  accountId: string,
  addresses: readonly string[],
): Promise<void> {
  await tx.query(ERASE_FROM_THREADS, accountId, addresses);
}

/** Makes another customer the writer of the mails that a customer wrote in these conversations. */
export async function moveWriter(
  tx: Tx,
  from: string,
  to: string,
  conversationIds: readonly string[],
): Promise<void> {
  await tx.query(MOVE_WRITER, from, to, conversationIds);
}

const PAGE = 200;

const MOVE_WRITER = statement<[from: string, to: string, conversationIds: readonly string[]]>(
  'move-writer-of-mails',
)`
    UPDATE mails SET actor_id = $2, updated_at = later_than(updated_at)
    WHERE conversation_id = ANY($3) AND actor_id = $1`;

const HAS_ADDRESS = `EXISTS (
        SELECT FROM jsonb_array_elements(m.recipients) AS r WHERE lower(r ->> 'address') = ANY($3::text[]))`;

const READ_OF_PERSON = statement<
  [
    accountId: string,
    id: string,
    addresses: readonly string[],
    afterTime: string,
    afterId: string,
    limit: number,
  ],
  ShownMail
>('read-mails-of-person')`
    SELECT ${SHOWN_COLUMNS} FROM mails m
    WHERE m.account_id = $1 AND (m.created_at, m.id) > ($4::timestamptz, $5)
      AND (m.actor_id = $2 OR lower(m.from_address) = ANY($3::text[]) OR lower(m.reply_to) = ANY($3::text[]) OR ${HAS_ADDRESS})
    ORDER BY m.created_at, m.id LIMIT $6`;

const IS_OF_PERSON = `(m.actor_id = $2 AND m.direction = 'in' OR lower(m.from_address) = ANY($3::text[]))`;

const ERASE = statement<
  [mailIds: readonly string[], id: string, addresses: readonly string[], texts: boolean],
  { source_key: string | null }
>('erase-person-from-mails')`
    WITH named AS MATERIALIZED (
      SELECT m.id, m.conversation_id, m.source_key FROM mails m WHERE m.id = ANY($1)
    ), locked AS (
      SELECT c.id, c.legal_hold FROM conversations c
      WHERE c.id IN (SELECT conversation_id FROM named) ORDER BY c.id FOR SHARE
    )
    UPDATE mails m SET
      from_address = CASE WHEN ${IS_OF_PERSON} THEN NULL ELSE m.from_address END,
      from_name = CASE WHEN ${IS_OF_PERSON} THEN NULL ELSE m.from_name END,
      reply_to = CASE WHEN ${IS_OF_PERSON} OR lower(m.reply_to) = ANY($3::text[]) THEN NULL ELSE m.reply_to END,
      recipients = (SELECT coalesce(jsonb_agg(r ORDER BY place), '[]')
        FROM jsonb_array_elements(m.recipients) WITH ORDINALITY AS e(r, place)
        WHERE NOT lower(r ->> 'address') = ANY($3::text[]) AND NOT (m.purpose = 'digest' AND m.actor_id = $2)),
      body_text = CASE WHEN $4 AND m.message_id IS NULL AND ${IS_OF_PERSON} THEN NULL ELSE m.body_text END,
      body_html = CASE WHEN $4 AND m.message_id IS NULL AND ${IS_OF_PERSON} THEN NULL ELSE m.body_html END,
      subject = CASE WHEN $4 AND m.message_id IS NULL AND ${IS_OF_PERSON} THEN NULL ELSE m.subject END,
      source_key = NULL, updated_at = later_than(m.updated_at)
    FROM named n LEFT JOIN locked l ON l.id = n.conversation_id
    WHERE m.id = n.id AND l.legal_hold IS DISTINCT FROM 'held'
    RETURNING n.source_key`;

const ERASE_FROM_COPIES = statement<
  [addresses: readonly string[], messageIds: readonly string[]],
  { id: string; stream: string }
>('erase-person-from-copies-of-messages')`
    WITH named AS MATERIALIZED (
      SELECT m.id, m.conversation_id FROM messages m
      WHERE m.id = ANY($2) AND EXISTS (SELECT FROM unnest(m.cc) AS a WHERE lower(a) = ANY($1::text[]))
    ), free AS (
      SELECT c.id FROM conversations c
      WHERE c.id IN (SELECT conversation_id FROM named) AND c.legal_hold <> 'held' ORDER BY c.id FOR SHARE
    )
    UPDATE messages m SET cc = ARRAY(SELECT a FROM unnest(m.cc) AS a WHERE NOT lower(a) = ANY($1::text[])), ${setTouched('later_than(m.updated_at)')}
    FROM named n JOIN free f ON f.id = n.conversation_id
    WHERE m.id = n.id AND m.conversation_id = n.conversation_id
    RETURNING m.id, m.conversation_id AS stream`;

const ERASE_FROM_THREADS = statement<[accountId: string, addresses: readonly string[]]>(
  'erase-person-from-mail-threads',
)`
    WITH named AS MATERIALIZED (
      SELECT conversation_id FROM mail_threads WHERE account_id = $1 AND cc && $2::text[]
    ), free AS (
      SELECT c.id FROM conversations c WHERE c.id IN (SELECT conversation_id FROM named) AND c.legal_hold <> 'held'
      ORDER BY c.id FOR SHARE
    )
    UPDATE mail_threads t SET updated_at = later_than(t.updated_at),
      cc = ARRAY(SELECT a FROM unnest(t.cc) AS a WHERE NOT lower(a) = ANY($2::text[]))
    FROM free f WHERE t.conversation_id = f.id`;
