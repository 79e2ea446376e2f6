import { type Kysely, sql } from 'kysely';

/**
 * What belongs to a message and changes without it. A change of it writes none of the message's own row, which carries the
 * text and five indexes.
 *
 * reactions: one row for each actor and emoji of a message. `customer` is that of the actor.
 *
 * reacted_messages: one row for each message that has, or had, reactions. Changes of its reactions lock it, so that their
 * number is exact, and it is what a resume finds.
 *
 * pins: one row for each message that is, or was, pinned; `pinned_at` is null once it is not.
 *
 * thread_reads: how far an actor has read the replies to a message, beside its position in the conversation.
 *
 * message_revisions.mentions, attachment_ids: both can be edited too.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';
const CHANGED = `updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_in xid8 NOT NULL DEFAULT pg_current_xact_id()`;

const STATEMENTS = [
  `CREATE TABLE reactions (
    message_id ${ID} NOT NULL,
    emoji text COLLATE "C" NOT NULL,
    actor_id ${ID} NOT NULL,
    conversation_id ${ID} NOT NULL,
    customer boolean NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (message_id, emoji, actor_id)
  )`,
  'CREATE INDEX reactions_of_actor ON reactions (actor_id, conversation_id)',

  `CREATE TABLE reacted_messages (
    message_id ${ID} PRIMARY KEY,
    conversation_id ${ID} NOT NULL,
    ${CHANGED}
  )`,
  'CREATE INDEX reacted_messages_changed ON reacted_messages (conversation_id, changed_in)',

  `CREATE TABLE pins (
    message_id ${ID} PRIMARY KEY,
    conversation_id ${ID} NOT NULL,
    pinned_by ${ID},
    pinned_at timestamptz,
    ${CHANGED}
  )`,
  'CREATE INDEX pins_changed ON pins (conversation_id, changed_in)',
  'CREATE INDEX pins_of_conversation ON pins (conversation_id, pinned_at, message_id) WHERE pinned_at IS NOT NULL',

  `CREATE TABLE thread_reads (
    message_id ${ID} NOT NULL,
    actor_id ${ID} NOT NULL,
    conversation_id ${ID} NOT NULL,
    read_sequence bigint NOT NULL,
    PRIMARY KEY (message_id, actor_id)
  )`,

  'ALTER TABLE message_revisions ADD COLUMN mentions text[], ADD COLUMN attachment_ids text[]',
];
