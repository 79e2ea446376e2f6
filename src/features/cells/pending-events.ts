import type { Querier } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';

/**
 * Queued work whose rows name no account: events whose effects are not done yet, and notes for the
 * inbox and the search. It begins again at the target.
 */
export interface PendingEvents {
  readonly events: readonly Event[];
  readonly marks: readonly Mark[];
  readonly notes: readonly Note[];
}

interface Event {
  readonly id: string;
  readonly topic: string;
  /** JSON. */
  readonly payload: string;
}

interface Mark {
  readonly conversation_id: string;
  readonly actor_id: string | null;
  readonly is_rescan: boolean;
}

interface Note {
  readonly entry_id: string;
  readonly conversation_id: string;
}

export async function readPending(cell: Querier, accountId: string): Promise<PendingEvents> {
  return {
    events: await cell.query(READ_EVENTS, accountId),
    marks: await cell.query(READ_MARKS, accountId),
    notes: await cell.query(READ_NOTES, accountId),
  };
}

/** Returns whether effects of committed changes, or rows of the audit, are still to be written. */
export async function hasPending(cell: Querier, accountId: string): Promise<boolean> {
  const [row] = await cell.query(HAS_PENDING, accountId);
  return row!.has;
}

export async function enqueuePending(
  target: Querier,
  { events, marks, notes }: PendingEvents,
): Promise<void> {
  for (const { topic, payload } of events) await target.query(ENQUEUE, topic, payload);
  for (const { conversation_id, actor_id, is_rescan } of marks) {
    await target.query(MARK, conversation_id, actor_id, is_rescan);
  }
  if (notes.length === 0) return;
  await target.query(
    NOTE,
    notes.map(({ entry_id }) => entry_id),
    notes.map(({ conversation_id }) => conversation_id),
  );
}

/** Removes at the source the events that the target has. */
export async function removePending(source: Querier, { events }: PendingEvents): Promise<void> {
  await source.query(
    REMOVE_EVENTS,
    events.map(({ id }) => id),
  );
}

// A payload names its account, or a conversation, an actor or a run of the account.
const IS_OF_ACCOUNT = `EXISTS (
  SELECT FROM (SELECT DISTINCT v #>> '{}' AS id FROM jsonb_path_query(o.payload, 'strict $.**') v
    WHERE jsonb_typeof(v) = 'string') named
  WHERE named.id = $1 OR ${[
    'conversations',
    'actors',
    'participants',
    'agent_runs',
    'platform_events',
    'mails',
    'imports',
    'compliance_jobs',
    'address_confirmations',
  ]
    .map((table) => `EXISTS (SELECT FROM ${table} x WHERE x.id = named.id AND x.account_id = $1)`)
    .join(' OR ')})`;

const READ_EVENTS = statement<[accountId: string], Event>('read-events-of-account')`
  SELECT o.id::text, o.topic, o.payload::text FROM outbox o
  WHERE ${IS_OF_ACCOUNT} ORDER BY o.id`;

const READ_MARKS = statement<[accountId: string], Mark>('read-inbox-marks-of-account')`
  SELECT d.conversation_id, d.actor_id, d.is_rescan FROM inbox_due d
  JOIN conversations c ON c.id = d.conversation_id WHERE c.account_id = $1 ORDER BY d.id`;

const READ_NOTES = statement<[accountId: string], Note>('read-search-notes-of-account')`
  SELECT n.entry_id, n.conversation_id
  FROM search_notes s, unnest(s.entry_ids, s.conversation_ids) AS n(entry_id, conversation_id)
  JOIN conversations c ON c.id = n.conversation_id WHERE c.account_id = $1`;

const HAS_PENDING = statement<[accountId: string], { has: boolean }>('has-pending-of-account')`
  SELECT EXISTS (SELECT FROM outbox o WHERE o.due_at < 'infinity' AND ${IS_OF_ACCOUNT})
  OR EXISTS (SELECT FROM audit_events WHERE account_id = $1 AND number IS NULL) AS has`;

// No node is handling the row, so the next sweep takes it at once.
const ENQUEUE = statement<[topic: string, payload: string]>('enqueue-arrived-event')`
  INSERT INTO outbox (topic, payload, due_at) VALUES ($1, $2::jsonb, '-infinity')`;

const MARK = statement<[conversationId: string, actorId: string | null, isRescan: boolean]>(
  'mark-arrived-in-inbox',
)`
  INSERT INTO inbox_due (conversation_id, actor_id, is_rescan) VALUES ($1, $2, $3::bool)`;

const NOTE = statement<[entryIds: readonly string[], conversationIds: readonly string[]]>(
  'note-arrived-for-search',
)`
  INSERT INTO search_notes (entry_ids, conversation_ids) VALUES ($1, $2)`;

const REMOVE_EVENTS = statement<[ids: readonly string[]]>('remove-moved-events')`
  DELETE FROM outbox WHERE id = ANY($1::bigint[])`;
