import type { Selectable } from 'kysely';
import type { Actor, Entity, MessagingGroup } from '../../contract/protocol/resources/actor.ts';
import type { ChatMessage } from '../../contract/protocol/resources/chat-message.ts';
import type {
  Conversation,
  ConversationInclude,
  ConversationType,
} from '../../contract/protocol/resources/conversation.ts';
import type { Participant } from '../../contract/protocol/resources/participant.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';
import { isBlockedByTeam, readActors } from './actor.ts';
import { readEntities, refKey } from './entity.ts';
import { readGroups } from './group.ts';
import { readMessagesForPage } from './large-bodies.ts';
import { presentMessage } from './message.ts';
import {
  IS_MEMBER,
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
  'deleted_at',
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
  /** Null if the reader is not a participant. */
  readonly membership: 'active' | 'hidden' | null;
  readonly unread: number;
  readonly lastReadSequence: number | null;
  readonly lastMessageAt: string | null;
  /** When the reader's snooze ends: `infinity` if with a message, null if there is none now. */
  readonly snoozedUntil: string | null;
  /** Whether the reader is a customer that the team has blocked. */
  readonly blocked: boolean;
}

interface ConversationExpansions {
  readonly assignee?: Actor | null;
  readonly group?: MessagingGroup | null;
  readonly participants?: readonly Participant[];
  readonly topic?: Entity | null;
  readonly lastMessage?: ChatMessage | null;
}

/** Returns a row as the team sees it (docs/contract.md#conversations). */
function presentConversation(
  row: ConversationRow,
  own: OwnView,
  expansions: ConversationExpansions = {},
): Conversation {
  const { participants } = expansions;
  return {
    id: row.id,
    object: 'conversation',
    type: row.type,
    audience: row.audience,
    title: row.title,
    workflow_status: row.workflow_status,
    group: expansions.group ?? null,
    status: own.membership === 'hidden' ? 'hidden' : row.status,
    legal_hold: row.legal_hold,
    assignee: expansions.assignee ?? null,
    participants: participants === undefined ? null : [...participants],
    topic: expansions.topic ?? null,
    unread: own.unread,
    last_message_at: own.lastMessageAt,
    last_message: expansions.lastMessage ?? null,
    created_at: row.created_at,
    updated_at: row.updated_at,
    deleted_at: row.deleted_at,
    inbox_id: row.inbox_id,
    last_read_sequence: own.lastReadSequence,
    blocked: row.is_blocked || own.blocked,
    snoozed: own.snoozedUntil !== null,
    snoozed_until: own.snoozedUntil === 'infinity' ? null : own.snoozedUntil,
    group_id: row.group_id,
    assignee_id: row.assignee_id,
    topic_type: row.topic_type,
    topic_id: row.topic_id,
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
  };
}

/** The viewer of conversations, as far as the representation depends on it. A Principal is one. */
export interface ConversationViewer {
  readonly customer: boolean;
  readonly actor: Pick<Actor, 'id'>;
}

export interface ExpandOptions {
  /** Companions include the actors of participants; the specified endpoints leave them null. */
  readonly participantActors?: boolean;
}

/**
 * Returns each row's resource by its id, as this viewer sees it, with exactly the requested
 * sub-objects: one query a kind for all rows, which belong to one account. The caller has checked
 * that the viewer may read them.
 */
export async function expandConversations(
  db: Db,
  viewer: ConversationViewer,
  rows: readonly ConversationRow[],
  include: readonly ConversationInclude[],
  { participantActors = false }: ExpandOptions = {},
): Promise<ReadonlyMap<string, Conversation>> {
  if (rows.length === 0) return new Map();
  const wanted = new Set(include);
  if (viewer.customer) for (const name of HIDDEN_FROM_CUSTOMERS) wanted.delete(name);
  const idsOf = (name: ConversationInclude, pick: (row: ConversationRow) => string | null) =>
    wanted.has(name) ? rows.flatMap((row) => pick(row) ?? []) : [];

  const own = await readOwn(db, viewer, rows);
  const [assignees, groups, topics, participants, lastMessages] = await Promise.all([
    readActors(
      db,
      idsOf('assignee', (row) => row.assignee_id),
    ),
    readGroups(
      db,
      idsOf('group', (row) => row.group_id),
    ),
    wanted.has('topic') ? readTopics(db, rows) : NO_TOPICS,
    readParticipants(
      db,
      viewer,
      idsOf('participants', (row) => row.id),
      participantActors,
    ),
    readLastMessages(db, viewer, wanted.has('last_message') ? [...own.values()] : []),
  ]);
  return new Map(
    rows.map((row) => {
      const { view, lastMessageId } = own.get(row.id)!;
      const conversation = presentConversation(row, view, {
        assignee: assignees.get(row.assignee_id ?? '') ?? null,
        group: groups.get(row.group_id ?? '') ?? null,
        topic: topics.get(topicKey(row) ?? '') ?? null,
        ...(wanted.has('participants') && { participants: participants.get(row.id) ?? [] }),
        lastMessage: lastMessages.get(lastMessageId ?? '') ?? null,
      });
      return [row.id, viewer.customer ? forCustomer(conversation) : conversation];
    }),
  );
}

const HIDDEN_FROM_CUSTOMERS = ['assignee', 'group', 'topic'] as const satisfies ConversationInclude[];

interface Own {
  readonly view: OwnView;
  readonly lastMessageId: string | null;
}

interface OwnRow {
  readonly conversation_id: string;
  readonly membership: OwnView['membership'];
  readonly unread: number;
  readonly last_message_at: string | null;
  readonly last_message_id: string | null;
  readonly snoozed_until: string | null;
  readonly read_sequence: number | null;
  readonly blocked: boolean;
}

async function readOwn(
  db: Db,
  viewer: ConversationViewer,
  rows: readonly ConversationRow[],
): Promise<ReadonlyMap<string, Own>> {
  const ids = rows.map((row) => row.id);
  const found = await db.query(READ_OWN, ids, viewer.actor.id, viewer.customer);
  return new Map(
    found.map((row) => {
      const view = {
        membership: row.membership,
        unread: row.unread,
        lastReadSequence: row.read_sequence,
        lastMessageAt: row.last_message_at,
        snoozedUntil: row.snoozed_until,
        blocked: row.blocked,
      };
      return [row.conversation_id, { view, lastMessageId: row.last_message_id }];
    }),
  );
}

const NO_TOPICS: ReadonlyMap<string, Entity> = new Map();

function readTopics(db: Db, rows: readonly ConversationRow[]) {
  const refs = rows.flatMap(({ topic_type: type, topic_id: id }) =>
    type === null || id === null ? [] : [{ type, id }],
  );
  return readEntities(db, rows[0]!.account_id, refs);
}

function topicKey({ topic_type: type, topic_id: id }: ConversationRow): string | undefined {
  return type === null || id === null ? undefined : refKey({ type, id });
}

/** Returns the members by conversation, in the order of joining. A customer sees only itself. */
async function readParticipants(
  db: Db,
  viewer: ConversationViewer,
  conversationIds: readonly string[],
  withActors: boolean,
): Promise<ReadonlyMap<string, Participant[]>> {
  const participants = new Map<string, Participant[]>();
  if (conversationIds.length === 0) return participants;
  const rows = await db.query(READ_PARTICIPANTS, conversationIds, viewer.customer ? viewer.actor.id : null);
  const shown = withActors
    ? await presentParticipants(db, rows)
    : rows.map((row) => presentParticipant(row, null));
  for (const [index, { conversation_id: id }] of rows.entries()) {
    const ofConversation = participants.get(id) ?? [];
    ofConversation.push(shown[index]!);
    participants.set(id, ofConversation);
  }
  return participants;
}

async function readLastMessages(
  db: Db,
  viewer: ConversationViewer,
  own: readonly Own[],
): Promise<ReadonlyMap<string, ChatMessage>> {
  const ids = own.flatMap(({ lastMessageId }) => lastMessageId ?? []);
  if (ids.length === 0) return new Map();
  const rows = await readMessagesForPage(db, ids);
  return new Map(rows.map((row) => [row.id, presentMessage(row, viewer)]));
}

const READ_CONVERSATIONS = statement<[ids: readonly string[]], ConversationRow>({
  name: 'read-conversations',
  text: `SELECT ${conversationColumns('c')} FROM conversations c WHERE c.id = ANY($1)`,
});

// Messages that waited outside the timeline count from their entry into it. A caller that is not a
// participant has no read position, so nothing unread. OFFSET 0: as in core/inbox/list-store.ts.
const READ_OWN = statement<[ids: readonly string[], actorId: string, forCustomer: boolean], OwnRow>({
  name: 'read-own-views-of-conversations',
  text: `
    SELECT c.id AS conversation_id, p.membership, p.read_sequence, last.id AS last_message_id, last.at AS last_message_at,
      CASE WHEN p.id IS NULL THEN 0 ELSE (
        SELECT count(*) FROM messages m
        WHERE m.conversation_id = c.id AND m.sequence > p.read_sequence AND m.status = 'sent'
          AND m.deleted_at IS NULL
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
    ) last ON true`,
});

const READ_PARTICIPANTS = statement<
  [conversationIds: readonly string[], actorId: string | null],
  ShownParticipant & { conversation_id: string }
>({
  name: 'read-participants-of-conversations',
  text: `
    SELECT ${shownParticipantColumns('p')}, p.conversation_id FROM participants p
    WHERE p.conversation_id = ANY($1) AND p.${IS_MEMBER}
      AND ($2::text IS NULL OR p.actor_id = $2)
    ORDER BY p.conversation_id, p.created_at, p.id`,
});
