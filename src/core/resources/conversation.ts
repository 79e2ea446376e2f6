import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type {
  Conversation,
  ConversationInclude,
  ConversationType,
} from '@parley/protocol/resources/conversation.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import type { Selectable } from 'kysely';
import type { Db } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';
import { isBlockedByTeam, readActors } from './actor.ts';
import { readEntities, refKey, refOf } from './entity.ts';
import { readGroups } from './group.ts';
import { readMessagesForPage } from './large-bodies.ts';
import { IS_MEMBER } from './membership.ts';
import { presentMessage, type Viewer } from './message.ts';
import { metadataFor, NO_METADATA } from './metadata.ts';
import {
  isSnoozed,
  presentParticipant,
  presentParticipants,
  type ShownParticipant,
  shownParticipantColumns,
} from './participant.ts';

export type ConversationRow = Selectable<Schema['conversations']>;

const CONVERSATION_COLUMNS = [
  'id',
  'account_id',
  'type',
  'audience',
  'title',
  'workflow_status',
  'group_id',
  'inbox_id',
  'status',
  'legal_hold',
  'assignee_id',
  'topic_type',
  'topic_id',
  'lane_behind',
  'direct_key',
  'is_blocked',
  'metadata',
  'deleted_at',
  'external_id',
  'waiting_since',
  'created_at',
  'updated_at',
  'changed_in',
] as const satisfies readonly (keyof ConversationRow)[];

const DIRECT = 'direct_message' satisfies ConversationType;

/** SQL: whether a conversation is between two users. */
export const IS_DIRECT = `type = '${DIRECT}'`;

/** Returns `c.id, c.account_id, …` for a table or alias. */
export function conversationColumns(alias: string): string {
  return CONVERSATION_COLUMNS.map((column) => `${alias}.${column}`).join(', ');
}

/** Returns conversations by their ids in no particular order, without missing ones. */
export function readConversationsById(db: Db, ids: readonly string[]): Promise<ConversationRow[]> {
  return db.query(READ_CONVERSATIONS, ids);
}

/** The fields of a conversation that differ by reader. */
interface OwnView {
  readonly conversation_id: string;
  /** Null if the reader is not a participant. */
  readonly membership: 'active' | 'hidden' | null;
  readonly unread: number;
  readonly read_sequence: number | null;
  readonly last_message_at: string | null;
  readonly last_message_id: string | null;
  /** When something was last sent, whether or not it was deleted or purged since. */
  readonly activity_at: string | null;
  /** When the reader's snooze ends: `infinity` if with a message, null if there is none now. */
  readonly snoozed_until: string | null;
  /** Whether the reader is a customer that the team has blocked. */
  readonly blocked: boolean;
}

type Expansions = Pick<Conversation, 'assignee' | 'group' | 'participants' | 'topic' | 'last_message'>;

/** Returns a row as the team sees it (docs/contract.md#conversations). */
function presentConversation(row: ConversationRow, own: OwnView, expansions: Expansions): Conversation {
  return {
    id: row.id,
    object: 'conversation',
    type: row.type,
    audience: row.audience,
    title: row.title,
    workflow_status: row.workflow_status,
    group: expansions.group,
    status: own.membership === 'hidden' ? 'hidden' : row.status,
    legal_hold: row.legal_hold,
    assignee: expansions.assignee,
    participants: expansions.participants,
    topic: expansions.topic,
    unread: own.unread,
    last_message_at: own.last_message_at,
    last_message: expansions.last_message,
    created_at: row.created_at,
    updated_at: row.updated_at,
    deleted_at: row.deleted_at,
    inbox_id: row.inbox_id,
    last_read_sequence: own.read_sequence,
    blocked: row.is_blocked || own.blocked,
    snoozed: own.snoozed_until !== null,
    snoozed_until: own.snoozed_until === 'infinity' ? null : own.snoozed_until,
    group_id: row.group_id,
    assignee_id: row.assignee_id,
    topic_type: row.topic_type,
    topic_id: row.topic_id,
    // Times of Postgres are text that sorts.
    activity_at:
      own.activity_at === null || own.activity_at < row.created_at ? row.created_at : own.activity_at,
    metadata: row.metadata ?? NO_METADATA,
    external_id: row.external_id,
    waiting_since: row.waiting_since,
  };
}

/** Hides the team's workflow (docs/contract.md#customers). */
function forCustomer(conversation: Conversation): Conversation {
  return {
    ...conversation,
    workflow_status: null,
    legal_hold: 'released',
    assignee: null,
    group: null,
    topic: null,
    inbox_id: null,
    group_id: null,
    assignee_id: null,
    topic_type: null,
    topic_id: null,
    metadata: metadataFor({ customer: true }, conversation.metadata),
    external_id: null,
    waiting_since: null,
  };
}

/**
 * Returns each row's resource by its id, as this viewer sees it, with exactly the requested
 * sub-objects: one query a kind for all rows, which belong to one account. The caller has checked
 * that the viewer may read them. With `participantActors`, participants have their actors, as for
 * companions; the specified endpoints leave them null.
 */
export async function expandConversations(
  db: Db,
  viewer: Viewer,
  rows: readonly ConversationRow[],
  include: readonly ConversationInclude[],
  { participantActors = false } = {},
): Promise<ReadonlyMap<string, Conversation>> {
  if (rows.length === 0) return new Map();
  const wanted = new Set(include);
  if (viewer.customer) for (const name of HIDDEN_FROM_CUSTOMERS) wanted.delete(name);
  const idsOf = (name: ConversationInclude, column: 'id' | 'assignee_id' | 'group_id') =>
    wanted.has(name) ? rows.flatMap((row) => row[column] ?? []) : [];

  const ids = rows.map((row) => row.id);
  const views = await db.query(READ_OWN, ids, viewer.actor.id, viewer.customer);
  const own = new Map(views.map((view) => [view.conversation_id, view]));
  const refs = rows.flatMap((row) => refOf(row.topic_type, row.topic_id) ?? []);
  const [assignees, groups, topics, participants, lastMessages] = await Promise.all([
    readActors(db, idsOf('assignee', 'assignee_id')),
    readGroups(db, idsOf('group', 'group_id')),
    readEntities(db, rows[0]!.account_id, wanted.has('topic') ? refs : [], null),
    readParticipants(db, viewer, idsOf('participants', 'id'), participantActors),
    readLastMessages(db, viewer, wanted.has('last_message') ? views : []),
  ]);
  return new Map(
    rows.map((row) => {
      const view = own.get(row.id)!;
      const conversation = presentConversation(row, view, {
        assignee: assignees.get(row.assignee_id ?? '') ?? null,
        group: groups.get(row.group_id ?? '') ?? null,
        topic: topics.get(refKey(refOf(row.topic_type, row.topic_id))) ?? null,
        participants: wanted.has('participants') ? (participants.get(row.id) ?? []) : null,
        last_message: lastMessages.get(view.last_message_id ?? '') ?? null,
      });
      return [row.id, viewer.customer ? forCustomer(conversation) : conversation];
    }),
  );
}

const HIDDEN_FROM_CUSTOMERS = ['assignee', 'group', 'topic'] as const satisfies ConversationInclude[];

/** Returns the members by conversation, in the order of joining. A customer sees only itself. */
async function readParticipants(
  db: Db,
  viewer: Viewer,
  conversationIds: readonly string[],
  withActors: boolean,
): Promise<ReadonlyMap<string, Participant[]>> {
  const participants = new Map<string, Participant[]>();
  if (conversationIds.length === 0) return participants;
  const rows = await db.query(READ_PARTICIPANTS, conversationIds, viewer.customer ? viewer.actor.id : null);
  const shown = withActors
    ? await presentParticipants(db, viewer, rows)
    : rows.map((row) => presentParticipant(viewer, row, null));
  for (const [index, { conversation_id: id }] of rows.entries()) {
    const ofConversation = participants.get(id) ?? [];
    ofConversation.push(shown[index]!);
    participants.set(id, ofConversation);
  }
  return participants;
}

async function readLastMessages(
  db: Db,
  viewer: Viewer,
  views: readonly OwnView[],
): Promise<ReadonlyMap<string, ChatMessage>> {
  const ids = views.flatMap(({ last_message_id }) => last_message_id ?? []);
  if (ids.length === 0) return new Map();
  const rows = await readMessagesForPage(db, ids);
  return new Map(rows.map((row) => [row.id, presentMessage(row, viewer)]));
}

const READ_CONVERSATIONS = statement<[ids: readonly string[]], ConversationRow>('read-conversations')`
    SELECT ${conversationColumns('c')} FROM conversations c WHERE c.id = ANY($1)`;

// Messages that waited outside the timeline count from their entry into it. A caller that is not a
// participant has no read position, so nothing unread. OFFSET 0: as in core/inbox/list-store.ts.
const READ_OWN = statement<[ids: readonly string[], actorId: string, forCustomer: boolean], OwnView>(
  'read-own-views-of-conversations',
)`
    SELECT c.id AS conversation_id, p.membership, p.read_sequence, last.id AS last_message_id, last.at AS last_message_at,
      greatest(sent.at, CASE WHEN $3::boolean THEN stored.customer_activity_at ELSE stored.activity_at END) AS activity_at,
      CASE WHEN p.id IS NULL THEN 0 ELSE (
        SELECT count(*) FROM messages m
        WHERE m.conversation_id = c.id AND m.sequence > p.read_sequence AND m.status = 'sent'
          AND m.deleted_at IS NULL AND m.imported IS NULL
          AND m.author_id IS DISTINCT FROM $2 AND (NOT $3::boolean OR m.visibility <> 'internal')
      ) END AS unread,
      CASE WHEN ${isSnoozed('p')} THEN p.snoozed_until END AS snoozed_until,
      $3::boolean AND ${isBlockedByTeam('$2')} AS blocked
    FROM unnest($1::text[]) AS c(id)
    LEFT JOIN LATERAL (
      SELECT id, conversation_id, actor_id, membership, read_sequence, snoozed_until, snoozed_after FROM participants
      WHERE conversation_id = c.id AND actor_id = $2 AND ${IS_MEMBER} OFFSET 0
    ) p ON true
    LEFT JOIN LATERAL (
      SELECT m.id, coalesce((m.outcome ->> 'at')::timestamptz, m.created_at) AS at FROM messages m
      WHERE m.conversation_id = c.id AND m.sequence IS NOT NULL AND m.status = 'sent' AND m.deleted_at IS NULL
        AND (NOT $3::boolean OR m.visibility <> 'internal')
      ORDER BY m.sequence DESC LIMIT 1
    ) last ON true
    LEFT JOIN LATERAL (
      SELECT activity_at, customer_activity_at, scanned_through FROM conversation_activity
      WHERE conversation_id = c.id OFFSET 0
    ) stored ON true
    LEFT JOIN LATERAL (
      SELECT moment_of(m) AS at FROM messages m
      WHERE m.conversation_id = c.id AND m.sequence > coalesce(stored.scanned_through, 0) AND m.status = 'sent'
        AND m.imported IS NULL AND (NOT $3::boolean OR m.visibility <> 'internal')
      ORDER BY m.sequence DESC LIMIT 1
    ) sent ON true`;

const READ_PARTICIPANTS = statement<
  [conversationIds: readonly string[], actorId: string | null],
  ShownParticipant & { conversation_id: string }
>('read-participants-of-conversations')`
    SELECT ${shownParticipantColumns('p')}, p.conversation_id FROM participants p
    WHERE p.conversation_id = ANY($1) AND p.${IS_MEMBER}
      AND ($2::text IS NULL OR p.actor_id = $2)
    ORDER BY p.conversation_id, p.created_at, p.id`;
