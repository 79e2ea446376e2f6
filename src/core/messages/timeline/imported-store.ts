import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { CopyField } from '../../../platform/db/connection/copy-in.ts';
import type { Querier, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { IS_MEMBER } from '../../resources/membership.ts';
import { ATTACHMENT_COLUMNS, type NewAttachment } from '../rows/new-message.ts';
import type { ImportedMessage } from './imported-message.ts';
import { isOpenNumber } from './timeline-store.ts';

/** A message with its number. A tombstone for a missing root has no author. */
export interface NumberedImport
  extends Omit<ImportedMessage, 'reply_to' | 'attachments' | 'reactions' | 'pin'> {
  readonly id: string;
  readonly sequence: number;
  /** The author, or the persona where a customer sees what the team has written. */
  readonly sender_id: string | null;
  readonly attachments: readonly NewAttachment[];
  readonly reactions: readonly ReactionOfImport[];
  readonly pin: ImportedMessage['pin'];
}

interface ReactionOfImport {
  readonly emoji: string;
  readonly actor_id: string;
  readonly customer: boolean;
  readonly created_at: string;
}

/** The conversation and the import of a statement's rows. */
export interface ImportPlace {
  readonly accountId: string;
  readonly conversationId: string;
  readonly importId: string;
  readonly by: string | null;
}

/**
 * Writes messages with all their parts and the marks for inbox and search, and moves the positions
 * of readers at the head. Rejects with an error of Postgres if a message conflicts with a unique
 * key.
 */
export async function insertImported(
  tx: Tx,
  { accountId, conversationId, importId, by }: ImportPlace,
  rows: readonly NumberedImport[],
): Promise<void> {
  const [now] = await tx.query(READ_TIME);
  const mark = JSON.stringify({ import_id: importId, at: now!.at, by });
  await tx.copy(
    'messages',
    COLUMNS,
    rows.map((row) => fieldsOf(row, accountId, conversationId, mark)),
  );
  const first = rows[0]!.sequence;
  const visible = rows.findLast(({ visibility }) => visibility !== 'internal')?.sequence ?? null;
  const parts = rows.filter(
    ({ attachments, reactions, pin }) => attachments.length + reactions.length > 0 || pin !== null,
  );
  if (parts.length > 0) {
    await tx.query(INSERT_PARTS, conversationId, Buffer.from(JSON.stringify(parts)));
  }
  const ids = rows.map(({ id }) => id);
  await tx.query(FOLLOW, conversationId, first, rows.at(-1)!.sequence, visible, ids);
}

const COLUMNS = [
  'id',
  'account_id',
  'conversation_id',
  'sequence',
  'kind',
  'status',
  'visibility',
  'body',
  'mentions',
  'sender_id',
  'author_id',
  'reply_to_id',
  'client_message_id',
  'has_attachments',
  'created_at',
  'updated_at',
  'edited_at',
  'edited_by',
  'deleted_at',
  'imported',
  'incomplete',
];

function fieldsOf(
  row: NumberedImport,
  accountId: string,
  conversationId: string,
  mark: string,
): readonly CopyField[] {
  const { created_at, edited_at, deleted_at, mentions, author_id } = row;
  return [
    row.id,
    accountId,
    conversationId,
    row.sequence,
    row.kind,
    'sent',
    row.visibility,
    row.body,
    mentions.length === 0 ? null : `{${mentions.join(',')}}`,
    row.sender_id,
    author_id,
    row.reply_to_id,
    row.client_message_id,
    row.attachments.length > 0,
    created_at,
    latest(created_at, edited_at, deleted_at),
    edited_at,
    edited_at === null ? null : author_id,
    deleted_at,
    mark,
    row.incomplete ?? null,
  ];
}

function latest(created: string, edited: string | null, deleted: string | null): string {
  let last = created;
  for (const time of [edited, deleted]) {
    if (time !== null && Date.parse(time) > Date.parse(last)) last = time;
  }
  return last;
}

/** Returns whether all numbers from `first` on can become messages (timeline-store.ts). */
export async function areOpen(tx: Tx, conversationId: string, first: number): Promise<boolean> {
  const [row] = await tx.query(ARE_OPEN, conversationId, first);
  return row!.open;
}

/** A message that is there already; `sequence` is null if it has not been sent. */
export interface KnownMessage {
  readonly client_message_id: string;
  readonly id: string;
  readonly sequence: number | null;
}

/**
 * Returns the messages of a conversation with these keys: imported messages by any author, other
 * messages by the author at the same index.
 */
export function readKnown(
  db: Querier,
  conversationId: string,
  keys: readonly { readonly client_message_id: string; readonly author_id: string | null }[],
): Promise<KnownMessage[]> {
  return db.query(
    READ_KNOWN,
    conversationId,
    keys.map(({ client_message_id }) => client_message_id),
    keys.map(({ author_id }) => author_id),
  );
}

/** Returns which of these ids are sent messages of the conversation. */
export async function readSentIds(
  db: Querier,
  conversationId: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  return new Set((await db.query(READ_SENT_IDS, conversationId, ids)).map(({ id }) => id));
}

/** The properties of an actor on which its messages depend. */
interface ActorKind {
  readonly id: string;
  readonly type: Actor['type'];
  readonly customer: boolean;
}

/** Returns the actors of the account among these ids. */
export async function readActorKinds(
  db: Querier,
  accountId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ActorKind>> {
  const rows = await db.query(READ_ACTOR_KINDS, accountId, ids);
  return new Map(rows.map((row) => [row.id, row]));
}

const READ_TIME = statement<[], { at: string }>('read-time-of-import')`
    SELECT to_char(statement_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at`;

const ATTACHED = Object.keys(ATTACHMENT_COLUMNS);

const INSERT_PARTS = statement<[conversationId: string, rows: Buffer]>('insert-parts-of-imported')`
    WITH given AS MATERIALIZED (
      SELECT * FROM json_to_recordset($2::json)
        AS (id text, created_at timestamptz, attachments json, reactions json, pin json)
    ), attached AS (
      INSERT INTO attachments (conversation_id, message_id, created_at, ${ATTACHED.join(', ')})
      SELECT $1, g.id, g.created_at, ${ATTACHED.map((name) => `a.${name}`).join(', ')}
      FROM given g, json_to_recordset(g.attachments) AS a(${Object.entries(ATTACHMENT_COLUMNS)
        .map(([name, type]) => `${name} ${type}`)
        .join(', ')})
    ), reacted AS (
      INSERT INTO reactions (message_id, emoji, actor_id, conversation_id, customer, created_at)
      SELECT g.id, r.emoji, r.actor_id, $1, r.customer, r.created_at
      FROM given g, json_to_recordset(g.reactions)
        AS r(emoji text, actor_id text, customer boolean, created_at timestamptz)
      ON CONFLICT DO NOTHING
      RETURNING message_id
    ), marked AS (
      INSERT INTO reacted_messages (message_id, conversation_id)
      SELECT DISTINCT message_id, $1 FROM reacted
    )
    INSERT INTO pins (message_id, conversation_id, pinned_by, pinned_at)
    SELECT g.id, $1, p.by, p.at
    FROM given g, json_to_record(g.pin) AS p(by text, at timestamptz) WHERE json_typeof(g.pin) = 'object'`;

/**
 * Leaves the marks of the messages. Moves the read positions of members that had read everything in
 * front of the number `first`: to `last`, or for customers to `visible`, the last number that they
 * may see. A snooze from there moves as well. The order of the rows is fixed, so that two such
 * statements cannot deadlock.
 */
const FOLLOW = statement<
  [conversationId: string, first: number, last: number, visible: number | null, ids: readonly string[]]
>('follow-imported')`
    WITH heads AS MATERIALIZED (
      SELECT ${lastBefore('true')} AS team, ${lastBefore("visibility <> 'internal'")} AS customer
    ), due AS MATERIALIZED (
      SELECT p.id, h.head, CASE WHEN p.type = 'customer' THEN $4::bigint ELSE $3::bigint END AS through
      FROM participants p, heads, LATERAL (
        SELECT CASE WHEN p.type = 'customer' THEN heads.customer ELSE heads.team END AS head
      ) h
      WHERE p.conversation_id = $1 AND p.${IS_MEMBER} AND (p.read_sequence >= h.head OR p.snoozed_after >= h.head)
      ORDER BY p.id FOR UPDATE OF p
    ), moved AS (UPDATE participants p SET
      read_sequence = CASE WHEN p.read_sequence >= due.head THEN greatest(p.read_sequence, due.through) ELSE p.read_sequence END,
      snoozed_after = CASE WHEN p.snoozed_after >= due.head THEN greatest(p.snoozed_after, due.through) ELSE p.snoozed_after END
    FROM due WHERE p.id = due.id AND due.through IS NOT NULL)
    SELECT note_imported($1, $5::text[])`;

/** SQL: the last number in front of `first` that a reader sees, or the last purged one. */
function lastBefore(isSeen: string): string {
  return `coalesce((
        SELECT sequence FROM messages
        WHERE conversation_id = $1 AND sequence < $2 AND status = 'sent' AND ${isSeen}
        ORDER BY sequence DESC LIMIT 1
      ), 0)`;
}

const ARE_OPEN = statement<[conversationId: string, first: number], { open: boolean }>('are-numbers-open')`
    SELECT ${isOpenNumber('$1', '$2::bigint')} AS open`;

const READ_KNOWN = statement<
  [conversationId: string, clientIds: readonly string[], authorIds: readonly (string | null)[]],
  KnownMessage
>('read-known-imports')`
    SELECT k.client_message_id, m.id, m.sequence
    FROM unnest($2::text[], $3::text[]) AS k(client_message_id, author_id), LATERAL (
      SELECT id, sequence FROM messages
      WHERE conversation_id = $1 AND client_message_id = k.client_message_id AND imported IS NOT NULL
      UNION ALL
      SELECT id, sequence FROM messages
      WHERE conversation_id = $1 AND author_id = k.author_id AND client_message_id = k.client_message_id
        AND client_message_id IS NOT NULL AND imported IS NULL
      LIMIT 1
    ) m`;

const READ_SENT_IDS = statement<[conversationId: string, ids: readonly string[]], { id: string }>(
  'read-sent-ids',
)`
    SELECT id FROM messages WHERE id = ANY($2) AND conversation_id = $1 AND status = 'sent'`;

const READ_ACTOR_KINDS = statement<[accountId: string, ids: readonly string[]], ActorKind>(
  'read-actor-kinds',
)`
    SELECT id, type, customer FROM actors WHERE id = ANY($2) AND account_id = $1`;
