import { newId } from '@parley/protocol/ids.ts';
import type { Metadata } from '@parley/protocol/resources/metadata.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import { sql, type Updateable } from 'kysely';
import type { Principal } from '../../../api/access/principal.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { keysetList, pages } from '../../../platform/db/connection/keyset.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import { touched } from '../../../platform/db/tables/touched.ts';
import type { ConversationRow } from '../../resources/conversation.ts';
import { IS_MEMBER, MEMBER } from '../../resources/membership.ts';
import { storedMetadata } from '../../resources/metadata.ts';
import {
  hasMuted,
  type ParticipantRow,
  type ShownParticipant,
  shownParticipantColumns,
} from '../../resources/participant.ts';

export interface NewParticipant {
  readonly type: Participant['type'];
  /** Null only for the system participant. */
  readonly actorId: string | null;
  /** Default `member`. */
  readonly role?: Participant['role'];
  /** For agents only; default `mention`. */
  readonly triggerPolicy?: NonNullable<Participant['agent_trigger_policy']>;
  readonly triggerKeywords?: readonly string[];
  readonly metadata?: Metadata;
  /** The group by which it takes part; absent for a participant that is added by name. */
  readonly viaGroupId?: string;
}

export async function addParticipant(
  tx: Tx,
  conversation: Pick<ConversationRow, 'id' | 'account_id'>,
  entry: NewParticipant,
): Promise<ParticipantRow> {
  const [row] = await addParticipants(tx, conversation, [entry]);
  return row!;
}

/** Adds participants in the given order, in one statement: a team may be a hundred people. */
export async function addParticipants(
  tx: Tx,
  conversation: Pick<ConversationRow, 'id' | 'account_id'>,
  entries: readonly NewParticipant[],
): Promise<ParticipantRow[]> {
  if (entries.length === 0) return [];
  const values = entries.map((entry, index) => {
    const { type, actorId, role, triggerPolicy, triggerKeywords, metadata, viaGroupId } = entry;
    // Lists are in the order of this time.
    const at = sql<string>`statement_timestamp() + ${index}::int * interval '1 microsecond'`;
    return {
      id: newId('participant'),
      account_id: conversation.account_id,
      conversation_id: conversation.id,
      actor_id: actorId,
      type,
      role: role ?? 'member',
      agent_trigger_policy: type === 'agent' ? (triggerPolicy ?? 'mention') : null,
      agent_trigger_keywords: [...(triggerKeywords ?? [])],
      metadata: storedMetadata(metadata),
      via_group_id: viaGroupId ?? null,
      created_at: at,
      updated_at: at,
    };
  });
  return tx.kysely.insertInto('participants').values(values).returningAll().execute();
}

export type ParticipantChange = Omit<Updateable<Schema['participants']>, 'updated_at' | 'changed_in'>;

/** Writes columns of a participant, and marks it as changed for readers that catch up. */
export function writeParticipant(
  tx: Tx,
  participantId: string,
  change: ParticipantChange,
): Promise<ParticipantRow> {
  return tx.kysely
    .updateTable('participants')
    .set({ ...change, ...touched() })
    .where('id', '=', participantId)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Selects the members of a conversation, without former ones. */
export function membersOf(tx: Tx, conversationId: string) {
  return tx.kysely
    .selectFrom('participants')
    .selectAll()
    .where('conversation_id', '=', conversationId)
    .where('membership', 'in', MEMBER);
}

/** Returns a participant, present or former, if PARTICIPANTS shows it to the caller. */
export async function readParticipant(
  db: Db,
  { customer, actor }: Principal,
  conversationId: string,
  participantId: string,
): Promise<ShownParticipant | undefined> {
  const [row] = await db.query(READ_PARTICIPANT, conversationId, customer ? actor.id : null, participantId);
  return row;
}

/** Returns all participants, former ones too, in the order in which they were added. */
export function readAllParticipants(db: Db, conversationId: string): Promise<ParticipantRow[]> {
  return db.kysely
    .selectFrom('participants')
    .selectAll()
    .where('conversation_id', '=', conversationId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/** Yields the actor's participants, former ones too, with facts of their conversations. */
export function readMembershipsOf(db: Db, actorId: string): AsyncIterable<MembershipOf[]> {
  const read = (after: string, size: number) => db.query(READ_MEMBERSHIPS_OF, actorId, after, size);
  return pages(500, '', read, ({ conversation_id }) => conversation_id);
}

export type MembershipOf = Pick<
  ParticipantRow,
  | 'id'
  | 'conversation_id'
  | 'type'
  | 'role'
  | 'membership'
  | 'notifications'
  | 'metadata'
  | 'created_at'
  | 'updated_at'
> &
  Pick<ConversationRow, 'audience' | 'title'> & { readonly conversation_type: ConversationRow['type'] };

/**
 * Mutes the actor in a locked conversation, removes the metadata of its participant, and marks its
 * participant as changed, for readers that show its actor. Returns the participant's id, or
 * undefined if it never was one.
 */
export async function muteErased(
  tx: Tx,
  conversationId: string,
  actorId: string,
): Promise<string | undefined> {
  const row = await tx.kysely
    .updateTable('participants')
    .set({ notifications: 'muted', muted_until: null, metadata: null, ...touched() })
    .where('conversation_id', '=', conversationId)
    .where('actor_id', '=', actorId)
    .returning('id')
    .executeTakeFirst();
  return row?.id;
}

/** Returns the conversations under legal hold of which the actor is or was a participant. */
export async function readHeldConversationsOf(db: Db, actorId: string): Promise<string[]> {
  const rows = await db.query(READ_HELD_OF, actorId);
  return rows.map(({ id }) => id);
}

const READ_HELD_OF = statement<[actorId: string], { id: string }>('read-held-conversations-of-actor')`
    SELECT c.id FROM participants p JOIN conversations c ON c.id = p.conversation_id
    WHERE p.actor_id = $1 AND c.legal_hold = 'held' ORDER BY c.id`;

const READ_MEMBERSHIPS_OF = statement<[actorId: string, after: string, limit: number], MembershipOf>(
  'read-memberships-of-actor',
)`
    SELECT p.id, p.conversation_id, p.type, p.role, p.membership,
      CASE WHEN ${hasMuted('p')} THEN 'muted' ELSE 'unmuted' END AS notifications, coalesce(p.metadata, '{}') AS metadata, c.type AS conversation_type,
      c.audience, c.title, p.created_at, p.updated_at
    FROM participants p JOIN conversations c ON c.id = p.conversation_id
    WHERE p.actor_id = $1 AND p.conversation_id > $2 ORDER BY p.conversation_id LIMIT $3`;

/** Returns whether the user is a member of the conversation or an admin of the account. */
export async function isReader(tx: Tx, actorId: string, conversationId: string): Promise<boolean> {
  const [reader] = await tx.query(FIND_READER, actorId, conversationId);
  return reader !== undefined;
}

/**
 * Writes the snooze or the read position, which no other reader sees, so no event follows. Returns
 * the time by Postgres' clock.
 */
export async function writeOwnState(
  tx: Tx,
  participantId: string,
  state: Pick<ParticipantChange, 'snoozed_until' | 'snoozed_after' | 'read_sequence'>,
): Promise<string> {
  const { at } = await tx.kysely
    .updateTable('participants')
    .set(state)
    .where('id', '=', participantId)
    .returning(sql<string>`clock_timestamp()`.as('at'))
    .executeTakeFirstOrThrow();
  return at;
}

/**
 * Marks the members as changed, so that readers catch up on a conversation that was added or
 * removed. Returns their actors.
 */
export async function touchMembers(tx: Tx, conversationId: string): Promise<string[]> {
  const rows = await tx.kysely
    .updateTable('participants')
    .set(touched())
    .where('conversation_id', '=', conversationId)
    .where('membership', 'in', MEMBER)
    .returning('actor_id')
    .execute();
  return rows.flatMap(({ actor_id }) => actor_id ?? []);
}

/** Returns the account's active admins that have never been participants of the conversation. */
export async function readAdminsOutside(
  tx: Tx,
  { id, account_id }: Pick<ConversationRow, 'id' | 'account_id'>,
): Promise<readonly string[]> {
  const rows = await tx.query(READ_ADMINS_OUTSIDE, account_id, id);
  return rows.map((row) => row.id);
}

/**
 * Participants with one of these memberships, in the order in which they were added. A customer
 * sees only itself: `actorId`.
 */
export const PARTICIPANTS = keysetList<
  [conversationId: string, actorId: string | null, memberships: readonly string[], metadata: string | null],
  ShownParticipant & { readonly created_at: string }
>({
  name: 'list-participants',
  columns: `${shownParticipantColumns('p')}, p.created_at`,
  from: 'participants p',
  where: `p.conversation_id = $1 AND p.membership = ANY($3)
      AND ($2::text IS NULL OR p.actor_id = $2)
      AND ($4::jsonb IS NULL OR p.metadata @> $4)`,
  key: [
    ['p.created_at', 'timestamptz'],
    ['p.id', 'text'],
  ],
  order: 'oldest_first',
});

const READ_ADMINS_OUTSIDE = statement<[accountId: string, conversationId: string], { id: string }>(
  'read-admins-outside',
)`
    SELECT a.id FROM actors a JOIN roles r ON r.id = a.role_id
    WHERE a.account_id = $1 AND a.type = 'user' AND a.deactivated_at IS NULL AND r.type = 'admin'
      AND NOT EXISTS (SELECT FROM participants p WHERE p.conversation_id = $2 AND p.actor_id = a.id)
    ORDER BY a.id`;

const READ_PARTICIPANT = statement<
  [conversationId: string, actorId: string | null, participantId: string],
  ShownParticipant
>('read-participant')`
    SELECT ${shownParticipantColumns('p')} FROM participants p
    WHERE p.id = $3 AND p.conversation_id = $1 AND ($2::text IS NULL OR p.actor_id = $2)`;

const FIND_READER = statement<[actorId: string, conversationId: string]>('find-reader-of-conversation')`
    SELECT a.id FROM actors a
      LEFT JOIN roles r ON r.id = a.role_id
      LEFT JOIN participants p
        ON p.actor_id = a.id AND p.conversation_id = $2 AND p.${IS_MEMBER}
    WHERE a.id = $1 AND (r.type = 'admin' OR p.id IS NOT NULL)`;
