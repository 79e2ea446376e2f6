/**
 * Everything that refers to an account, a person, a conversation or a message goes with it and is
 * exported, as the holdings of the slices say. The tables of the schema are compared with them, and
 * the exceptions are here, each with its reason.
 */

import { sql } from 'kysely';
import t from 'tap';
import { HOOKS } from '../../src/app/features.ts';
import { allHoldings } from '../../src/core/features/all-holdings.ts';
import type { HeldTable } from '../../src/core/resources/holdings.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { createLog } from '../../src/platform/log.ts';
import { createTestDatabase } from '../support/postgres.ts';

const BLANKED = 'the actor stays, as a row without its name';
const WITH_MESSAGES = 'goes with the messages and participants of its conversation';
const BY_ADMINS = 'set up by admins';
const IDS = 'ids, numbers and times';

/** Columns whose rows neither go with what they name nor lose it. */
const KEPT: Readonly<Record<string, string>> = {
  'account_moves.account_id': 'stays after its account, which it keeps from being used again',
  'agent_definitions.actor_id': BLANKED,
  'agent_run_actions.reviewed_by': BLANKED,
  'agent_runs.actor_id': 'an agent is no person',
  'agent_runs.cancelled_by': BLANKED,
  'api_keys.actor_id': 'a key is no person',
  'artifacts.account_id': 'goes with its run',
  'audit_events.actor_id': BLANKED,
  'audit_events.conversation_id': 'the audit outlives it, without details (purge-deleted.ts)',
  'blocks.created_by': BLANKED,
  'compliance_jobs.requested_by': BLANKED,
  'compliance_jobs.subject_id': 'an id; its export ends and its names are forgotten (job-store.ts)',
  'conversation_activity.conversation_id': 'the writer of the inbox removes it',
  'conversation_activity.customer_last_author_id': BLANKED,
  'conversation_activity.last_author_id': BLANKED,
  'conversations.account_id': 'compliance/ removes conversations one by one (account-removal.ts)',
  'conversations.assignee_id': BLANKED,
  'conversations.deleted_by': BLANKED,
  'identities.actor_id': 'keeps the tokens of a person who was erased refused',
  'identity_providers.created_by': BLANKED,
  'inbox_due.actor_id': BLANKED,
  'inbox_due.conversation_id': 'the writer of the inbox removes it',
  'inbox_rows.actor_id': BLANKED,
  'inbox_rows.conversation_id': 'the writer of the inbox removes it',
  'inboxes.assignee_id': BLANKED,
  'inboxes.created_by': BLANKED,
  'imports.created_by': BLANKED,
  'invitations.invited_by': BLANKED,
  'mail_threads.account_id': 'goes with its conversation',
  'message_revisions.replaced_by': BLANKED,
  'messages.account_id': WITH_MESSAGES,
  'messages.author_id': 'an erasure removes them one by one, if requested (eraser.ts)',
  'messages.conversation_id': 'deleted in the order of their numbers (purge.ts)',
  'messages.edited_by': BLANKED,
  'messages.sender_id': BLANKED,
  'messages.source_thread_message_id': 'an id of the conversation',
  'messaging_groups.actor_id': 'a group is no person',
  'participants.account_id': WITH_MESSAGES,
  'push_apps.created_by': BLANKED,
  'participants.actor_id': 'an erasure mutes it, and the actor is blanked (eraser.ts)',
  'participants.conversation_id': 'goes with the empty conversation (deleteEmptyConversation)',
  'pins.pinned_by': BLANKED,
  'presences.actor_id': 'gone within a minute',
  'reactions.actor_id': 'an erasure removes them with the messages (eraser.ts)',
  'search_changes.actor_ids': 'keeps nothing',
  'search_changes.conversation_ids': 'keeps nothing',
  'search_entries.account_id': 'a trigger deletes it with its message or its conversation',
  'search_entries.conversation_id': 'a trigger deletes it with its message or its conversation',
  'search_notes.conversation_ids': 'a note of ids, deleted once it is indexed',
  'thread_reads.actor_id': BLANKED,
  'uploads.account_id': 'withdrawn, and removed once nothing shows them (account-removal.ts)',
  'uploads.actor_id': 'goes with the row that refers to the file; without one it is withdrawn (uploads.ts)',
  'users.id': 'blanked with its actor',
  'webhook_deliveries.conversation_id': 'an id, removed after some days (webhooks/removal.ts)',
  'visitors.claimed_by': 'refuses a second claim',
  'visitors.conversation_ids': 'where a claim is settled',
  'webhooks.created_by': BLANKED,
  'widgets.created_by': BLANKED,
};

/** Tables that no export shows. */
const NOT_EXPORTED: Readonly<Record<string, string>> = {
  account_moves: IDS,
  address_confirmations: 'gone within a day; the mail is exported',
  agent_definitions: BY_ADMINS,
  agent_run_actions: 'what models were sent; the run is exported',
  api_keys: BY_ADMINS,
  audit_chains: 'its head is in the audit',
  audit_checkpoints: 'hashes',
  audit_handovers: 'keys and hashes',
  compliance_jobs: 'what admins asked for',
  conversation_activity: 'made of messages',
  customer_card_sources: BY_ADMINS,
  questions: 'ids and times; the message shows the question',
  digests: IDS,
  entities: BY_ADMINS,
  group_members: BY_ADMINS,
  idempotency_keys: 'answers of a day',
  identities: 'hashes',
  identity_providers: BY_ADMINS,
  import_refs: IDS,
  imports: BY_ADMINS,
  inbox_due: IDS,
  inbox_rows: 'made of memberships and messages',
  inboxes: BY_ADMINS,
  invitations: 'a credential',
  mail_threads: 'made of mails',
  messaging_groups: BY_ADMINS,
  operators: 'named by the operator',
  pins: 'what the team works with',
  presences: 'gone within a minute',
  push_apps: BY_ADMINS,
  reacted_messages: IDS,
  refresh_tokens: 'a credential',
  retention_policies: BY_ADMINS,
  search_changes: IDS,
  search_entries: 'made of messages',
  search_notes: IDS,
  sign_ins: 'goes with a session, whose credential it is beside',
  stored_bytes: IDS,
  thread_reads: IDS,
  tickets: 'a credential',
  visitors: IDS,
  webhook_deliveries: IDS,
  webhook_progress: IDS,
  webhooks: BY_ADMINS,
  widgets: BY_ADMINS,
};

/** Names of columns that refer to an account, a person, a conversation or a message. */
const NAMES =
  '^((.*_)?(account|actor|user|person|author|sender|recipient|assignee|blocker|subject|conversation|message)_ids?|.*_by)$';
/** Names of such a form that refer to nothing of ours, or to rows that go at once. */
const NO_REFERENCES = ['messages.client_message_id'];

interface Reference {
  readonly table: string;
  readonly column: string;
  /** The schema deletes the row with what it refers to. */
  readonly cascades: boolean;
}

const { url } = await createTestDatabase(t);
const database = await openDatabase({ url, log: createLog('silent'), hooks: HOOKS });
t.teardown(() => database.close());
const { rows: references } = await sql<Reference>`
  SELECT c.table_name AS table, c.column_name AS column, EXISTS (
      SELECT FROM pg_constraint k JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = ANY(k.conkey)
      WHERE k.contype = 'f' AND k.confdeltype = 'c' AND k.conrelid::regclass::text = c.table_name
        AND a.attname = c.column_name) AS cascades
  FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
  WHERE table_schema = 'public' AND t.table_type = 'BASE TABLE' AND (c.column_name ~ ${NAMES} OR EXISTS (
    SELECT FROM pg_constraint k JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = ANY(k.conkey)
    WHERE k.contype = 'f' AND k.conrelid::regclass::text = c.table_name AND a.attname = c.column_name
      AND k.confrelid::regclass::text IN ('accounts', 'actors', 'users', 'conversations')))
  ORDER BY 1, 2`.execute(database.kysely);
const held = new Map(
  allHoldings(database).flatMap(({ tables }) =>
    Object.entries(tables as Readonly<Record<string, HeldTable>>),
  ),
);

t.test('each row goes with what it refers to, or there is a reason', async (t) => {
  t.ok(references.length > 90);
  const left = references.filter(({ table, column, cascades }) => {
    const rows = held.get(table);
    if (NO_REFERENCES.includes(`${table}.${column}`) || cascades || rows?.[column as never]) return false;
    if (column === 'account_id') return rows?.account === undefined && rows?.message_id !== 'removed';
    return !(column === 'conversation_id' && rows?.message_id === 'removed');
  });
  const names = left.map(({ table, column }) => `${table}.${column}`);
  t.strictSame(names.sort(), Object.keys(KEPT).sort());
});

t.test('each table is exported, or there is a reason', async (t) => {
  const tables = [...new Set(references.map(({ table }) => table))];
  const left = tables.filter((table) => held.get(table)?.exported === undefined);
  t.strictSame(left.sort(), Object.keys(NOT_EXPORTED).sort());
});

t.test('what the holdings name exists', async (t) => {
  for (const { tables, ...holdings } of allHoldings(database)) {
    const nouns = [
      'files',
      ...Object.keys({ ...holdings.exportsOfPerson, ...holdings.exportsOfConversation }),
    ];
    for (const { exported } of Object.values(tables as Readonly<Record<string, HeldTable>>)) {
      if (exported !== undefined) t.ok(nouns.includes(exported), exported);
    }
  }
});
