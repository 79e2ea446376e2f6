import { FOLDING } from '@parley/protocol/folding.ts';
import { unfoldedIndexes } from '../../platform/db/connection/folded-table.ts';
import type { Indexes } from '../../platform/db/migration/indexes.ts';
import { metadataIndex } from '../../platform/db/tables/metadata-column.ts';
import { FOLDED } from './folded-tables.ts';

/** The indexes of tables that may be large. They are built without blocking writes. */
export const INDEXES: Indexes = {
  // A new database has some of them from its baseline.
  built: {
    messages_sequence: {
      unique: true,
      on: 'messages (conversation_id, sequence) WHERE sequence IS NOT NULL',
    },
    messages_client_id: {
      unique: true,
      on: 'messages (conversation_id, author_id, client_message_id) WHERE client_message_id IS NOT NULL',
    },
    // A repeated import finds its messages by this, whichever actor the author is by then.
    messages_imported: {
      unique: true,
      on: 'messages (conversation_id, client_message_id) WHERE imported IS NOT NULL',
    },
    messages_changed: {
      on: 'messages (conversation_id, changed_in) WHERE updated_at > created_at OR sequence IS NULL',
    },
    notifications_changed: { on: 'notifications (recipient_id, changed_in) WHERE changed_in IS NOT NULL' },
    // The notifications of work that waits for their recipient. Those of messages are not in it.
    notifications_work: {
      on: "notifications (recipient_id, category) WHERE subject IS NOT NULL AND status <> 'dismissed'",
    },
    agent_run_actions_awaits: { on: 'agent_run_actions (awaits) WHERE awaits IS NOT NULL' },
    notifications_subject: { on: 'notifications (subject, recipient_id) WHERE subject IS NOT NULL' },
    actors_customer_address: { on: 'actors (account_id, lower(handle)) WHERE customer' },
    // The index for resuming an author's own feed. A plain send does not touch it.
    messages_schedules: { on: "messages (author_id, changed_in) WHERE kind = 'scheduled'" },
    audit_events_of_account: { on: 'audit_events (account_id, created_at, id)' },
    audit_events_chain: { unique: true, on: 'audit_events (account_id, number) WHERE number IS NOT NULL' },
    // Rows are in the order of sealing. A sealed row leaves it, so finding none costs one page.
    audit_events_unsealed: {
      on: 'audit_events (account_id, position NULLS FIRST, created_at, id) WHERE number IS NULL',
    },
    // The index for the schedules of one conversation that are due, in their order.
    messages_due: { on: "messages (conversation_id, scheduled_at) WHERE status = 'scheduled'" },
    // The runs that a purge removes with the messages of a conversation.
    agent_runs_of_conversation: { on: 'agent_runs (conversation_id, id) WHERE conversation_id IS NOT NULL' },
    agent_occurrences_age: { on: 'agent_occurrences (due_at)' },
    artifacts_of_account: { on: 'artifacts (account_id, created_at)' },
    actors_of_role: { on: 'actors (role_id) WHERE role_id IS NOT NULL' },
    // The index for the directory of people, in the order of their names.
    actors_people: {
      on: "actors (account_id, lower(coalesce(name, '')), id) WHERE type IN ('user', 'agent') AND NOT customer AND deactivated_at IS NULL",
    },
    conversations_of_group: { on: 'conversations (group_id) WHERE group_id IS NOT NULL' },
    // The cases whose customers wait, the longest waiting first.
    conversations_waiting: {
      on: 'conversations (account_id, waiting_since, id) WHERE waiting_since IS NOT NULL',
    },
    conversations_of_assignee: { on: 'conversations (assignee_id) WHERE assignee_id IS NOT NULL' },
    conversations_of_team: { on: 'conversations (team_group_id, id) WHERE team_group_id IS NOT NULL' },
    participants_via_group: {
      on: 'participants (via_group_id, conversation_id) WHERE via_group_id IS NOT NULL',
    },
    // The files of a conversation, in the order in which their messages were written.
    attachments_of_conversation: {
      on: "attachments (conversation_id, message_id, position) WHERE kind IN ('file', 'image')",
    },
    // The replies to a message, in their order. A plain send does not touch it.
    messages_replies: {
      on: "messages (reply_to_id, sequence) WHERE reply_to_id IS NOT NULL AND status = 'sent' AND deleted_at IS NULL",
    },
    // The runs of an account in the order of its list; open ones, which may be few, on their own.
    agent_runs_of_account: { on: 'agent_runs (account_id, created_at, id)' },
    agent_runs_open_of_account: { on: 'agent_runs (account_id, created_at, id) WHERE completed_at IS NULL' },
    // The indexes for filters by metadata. A row without metadata is in none of these.
    actors_metadata: { on: `actors ${metadataIndex()}` },
    conversations_metadata: { on: `conversations ${metadataIndex()}` },
    // The sessions of the visitors of a widget.
    refresh_tokens_of_widget: { on: 'refresh_tokens (widget_id) WHERE widget_id IS NOT NULL' },
    // The late uploads of a customer, and the uploads that a claim or an erasure finds.
    uploads_of_actor: { on: 'uploads (actor_id, created_at)' },
    // The mails of agents that failed, those that the limit against loops stopped among them.
    mails_failed_of_agents: { on: "mails (created_at) WHERE automatic AND status = 'failed'" },
    agent_runs_of_root: { on: 'agent_runs (root_id) WHERE root_id IS NOT NULL' },
    // The entries of the search whose words have an earlier folding. Empty once all are written
    // again.
    [`search_entries_before_${FOLDING}`]: { on: `search_entries (account_id) WHERE folding < ${FOLDING}` },
    ...unfoldedIndexes(Object.values(FOLDED)),
  },
  dropped: [],
};
