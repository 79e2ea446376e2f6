import type { LostConversation } from '@parley/protocol/socket/event-data.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Change } from '../events/changes.ts';
import { type ChangedArm, eventSource } from '../events/event-source.ts';
import { partOf } from '../frames/frame.ts';
import type { DomainEvent } from '../frames/publish.ts';
import { expandConversations, readConversationsById } from '../resources/conversation.ts';
import { isMember } from '../resources/membership.ts';
import {
  presentParticipants,
  type ShownParticipant,
  shownParticipantColumns,
  TEAM_READER,
} from '../resources/participant.ts';

const CONVERSATION_ARM: ChangedArm = {
  part: 'conversation',
  rows: 'conversations c WHERE c.id = s.id AND c.changed_in >= $3::xid8',
};

/**
 * `conversation.updated`, for team subscribers, without the fields that differ by reader
 * (docs/realtime.md#events).
 */
export const conversationEvents = eventSource({
  events: ['conversation.updated'],
  read: ({ database }, changes) => conversationUpdates(database, changes),
  changed: {
    conversation: {
      arm: CONVERSATION_ARM,
      async since({ database }, conversationIds, since) {
        return conversationUpdates(
          database,
          await database.query(READ_CHANGED_CONVERSATIONS, conversationIds, since.xid),
        );
      },
    },
  },
});

/**
 * `messages.purged`, for every subscriber. A purge does not change `updated_at`, so the event has
 * its own time. Its rows are those of `conversation.updated`.
 */
export const purgeEvents = eventSource({
  events: ['messages.purged'],
  async read({ database }, changes) {
    const ids = changes.map(({ id }) => id);
    return (await database.query(READ_PURGED, ids)).map(purgeEvent);
  },
  changed: {
    conversation: {
      arm: CONVERSATION_ARM,
      async since({ database }, conversationIds, since) {
        return (await database.query(READ_PURGED_SINCE, conversationIds, since.xid)).map(purgeEvent);
      },
    },
  },
});

interface PurgedRow {
  readonly id: string;
  readonly purged_through: number;
  readonly purged_at: string;
}

function purgeEvent({ id, purged_through: through_sequence, purged_at: at }: PurgedRow): DomainEvent {
  const data = { conversation_id: id, through_sequence };
  return {
    event: 'messages.purged',
    stream: id,
    conversationId: id,
    sequence: 0,
    // The events of the conversation itself have other times.
    resource: partOf(id, 'messages'),
    at,
    team: data,
    customer: data,
  };
}

async function conversationUpdates(
  db: Db,
  changed: readonly { readonly id: string }[],
): Promise<DomainEvent[]> {
  const ids = changed.map(({ id }) => id);
  const rows = await readConversationsById(db, ids);
  const shown = await expandConversations(db, TEAM_VIEWER, rows, []);
  return rows.map((row) => {
    const {
      status: _,
      unread: _unread,
      last_read_sequence: _position,
      snoozed: _snoozed,
      snoozed_until: _until,
      ...data
    } = shown.get(row.id)!;
    return {
      event: 'conversation.updated',
      stream: row.id,
      conversationId: row.id,
      sequence: 0,
      resource: row.id,
      at: row.updated_at,
      team: data,
      customer: undefined,
    };
  });
}

/** Events of participants that were added, changed or removed, for team subscribers. */
export const participantEvents = eventSource({
  events: ['participant.added', 'participant.updated', 'participant.removed'],
  read: ({ database }, changes) => participantUpdates(database, changes),
  changed: {
    conversation: {
      arm: {
        part: 'participants',
        rows: 'participants p WHERE p.conversation_id = s.id AND p.changed_in >= $3::xid8',
      },
      async since({ database }, conversationIds, since) {
        const rows = await database.query(READ_CHANGED_PARTICIPANTS, conversationIds, since.xid);
        const changes = rows.map(({ id, membership, is_new }): ParticipantChange => {
          if (!isMember({ membership })) return { id, event: 'participant.removed' };
          return { id, event: is_new ? 'participant.added' : 'participant.updated' };
        });
        return participantUpdates(database, changes);
      },
    },
  },
});

type ParticipantChange = Pick<
  Change<'participant.added' | 'participant.updated' | 'participant.removed'>,
  'id' | 'event'
>;

async function participantUpdates(db: Db, changes: readonly ParticipantChange[]): Promise<DomainEvent[]> {
  const ids = changes.map(({ id }) => id);
  const rows = await db.query(READ_PARTICIPANTS, ids);
  const shown = await presentParticipants(db, TEAM_READER, rows);
  const eventOf = new Map(changes.map(({ id, event }) => [id, event]));
  return rows.flatMap((row, index) => {
    const event = eventOf.get(row.id)!;
    if (event === 'participant.added' && !isMember(row)) return [];
    if (event === 'participant.removed' && isMember(row)) return [];
    return {
      event,
      stream: row.conversation_id,
      conversationId: row.conversation_id,
      sequence: 0,
      resource: row.id,
      at: row.updated_at,
      team: shown[index],
      customer: undefined,
    };
  });
}

/**
 * `conversation.added` and `conversation.removed` on the actor's own feed, with the conversation as
 * REST shows it to that actor, or only its id if the actor cannot read it any more.
 */
export const membershipEvents = eventSource({
  events: ['conversation.added', 'conversation.removed'],
  read: ({ database }, changes) => membershipUpdates(database, changes),
  changed: {
    actor: {
      arm: {
        part: 'memberships',
        rows: 'participants p WHERE p.actor_id = s.id AND p.changed_in >= $3::xid8',
      },
      async since({ database }, actorIds, since) {
        const rows = await database.query(READ_CHANGED_MEMBERSHIPS, actorIds, since.xid);
        const changes = rows.map(({ id, stream, ...row }): MembershipChange => {
          return { id, stream, event: isIn(row) ? 'conversation.added' : 'conversation.removed' };
        });
        return membershipUpdates(database, changes);
      },
    },
  },
});

type MembershipChange = Change<'conversation.added' | 'conversation.removed'>;

async function membershipUpdates(db: Db, changes: readonly MembershipChange[]): Promise<DomainEvent[]> {
  const events: DomainEvent[] = [];
  for (const { id, event, stream } of changes) {
    const [row] = await db.query(READ_MEMBERSHIP, id, stream);
    if (row === undefined || isIn(row) !== (event === 'conversation.added')) continue;
    const data = isIn(row)
      ? await readAs(db, { customer: row.customer, actor: { id: stream } }, id)
      : lostConversation(id, row);
    events.push({
      event,
      stream,
      conversationId: null,
      sequence: 0,
      resource: id,
      at: row.updated_at,
      team: row.customer ? undefined : data,
      customer: row.customer ? data : undefined,
    });
  }
  return events;
}

/** Returns whether the actor is a member and the conversation was not deleted. */
function isIn({ membership, deleted_at }: Pick<Membership, 'membership' | 'deleted_at'>): boolean {
  return deleted_at === null && isMember({ membership });
}

function lostConversation(
  id: string,
  { membership, deleted_at }: Pick<Membership, 'membership' | 'deleted_at'>,
): LostConversation {
  const reason = deleted_at !== null ? 'deleted' : membership === 'left' ? 'left' : 'removed';
  return { id, object: 'conversation', reason };
}

/** Returns `conversation.removed` for the subscribers of a deleted conversation. */
export function deletedEvent(id: string, deletedAt: string): DomainEvent<'conversation.removed'> {
  const data = lostConversation(id, { membership: 'active', deleted_at: deletedAt });
  return {
    event: 'conversation.removed',
    stream: id,
    conversationId: id,
    sequence: 0,
    resource: id,
    at: deletedAt,
    team: data,
    customer: data,
  };
}

/** A viewer without a membership sees the fields that are the same for the whole team. */
const TEAM_VIEWER = { customer: false, actor: { id: '' } };

interface StreamedParticipant extends ShownParticipant {
  readonly conversation_id: string;
  readonly updated_at: string;
}

interface Membership {
  readonly membership: ShownParticipant['membership'];
  readonly updated_at: string;
  readonly customer: boolean;
  /** Set on a deleted conversation. */
  readonly deleted_at: string | null;
}

async function readAs(
  db: Db,
  viewer: Parameters<typeof expandConversations>[1],
  id: string,
): Promise<object> {
  const rows = await readConversationsById(db, [id]);
  return (await expandConversations(db, viewer, rows, [])).get(id)!;
}

const READ_PARTICIPANTS = statement<[ids: readonly string[]], StreamedParticipant>(
  'read-participants-for-events',
)`
    SELECT ${shownParticipantColumns('p')}, p.conversation_id, p.updated_at FROM participants p WHERE p.id = ANY($1)`;

const READ_MEMBERSHIP = statement<[conversationId: string, actorId: string], Membership>(
  'read-membership-for-events',
)`
    SELECT p.membership, p.updated_at, a.customer, c.deleted_at
    FROM participants p JOIN actors a ON a.id = p.actor_id JOIN conversations c ON c.id = p.conversation_id
    WHERE p.conversation_id = $1 AND p.actor_id = $2`;

const READ_CHANGED_CONVERSATIONS = statement<
  [conversationIds: readonly string[], sinceXid: string],
  { id: string }
>('read-changed-conversations')`
    SELECT id FROM conversations
    WHERE id = ANY($1) AND changed_in >= $2::xid8 AND updated_at > created_at`;

const READ_PURGED = statement<[ids: readonly string[]], PurgedRow>('read-purged-conversations')`
    SELECT id, purged_through, purged_at FROM conversations WHERE id = ANY($1) AND purged_at IS NOT NULL`;

const READ_PURGED_SINCE = statement<[conversationIds: readonly string[], sinceXid: string], PurgedRow>(
  'read-conversations-purged-since',
)`
    SELECT id, purged_through, purged_at FROM conversations WHERE id = ANY($1) AND purged_in >= $2::xid8`;

const READ_CHANGED_PARTICIPANTS = statement<
  [conversationIds: readonly string[], sinceXid: string],
  Pick<ShownParticipant, 'id' | 'membership'> & { readonly is_new: boolean }
>('read-changed-participants')`
    SELECT id, membership, updated_at = created_at AS is_new FROM participants
    WHERE conversation_id = ANY($1) AND changed_in >= $2::xid8
    ORDER BY conversation_id, updated_at, id`;

const READ_CHANGED_MEMBERSHIPS = statement<
  [actorIds: readonly string[], sinceXid: string],
  Pick<Membership, 'membership' | 'deleted_at'> & { readonly id: string; readonly stream: string }
>('read-changed-memberships')`
    SELECT p.conversation_id AS id, p.actor_id AS stream, p.membership, c.deleted_at
    FROM participants p JOIN conversations c ON c.id = p.conversation_id
    WHERE p.actor_id = ANY($1) AND p.changed_in >= $2::xid8
    ORDER BY p.actor_id, p.updated_at, p.id`;
