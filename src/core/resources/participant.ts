import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import type { Selectable } from 'kysely';
import type { Db } from '../../platform/db/connection/handle.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';
import { readActors } from './actor.ts';
import { isMember } from './membership.ts';
import { metadataFor, NO_METADATA } from './metadata.ts';

export type ParticipantRow = Selectable<Schema['participants']>;

/**
 * SQL: whether the participant `p` has snoozed its conversation at this moment: the snooze has not
 * ended, and no other author has sent a message since. System events do not end a snooze; messages
 * that were deleted or purged meanwhile do.
 */
export function isSnoozed(p: string): string {
  return `(${p}.snoozed_until > clock_timestamp()
        AND ${p}.snoozed_after >= (SELECT purged_through FROM conversations WHERE id = ${p}.conversation_id)
        AND NOT EXISTS (
          SELECT FROM messages came WHERE came.conversation_id = ${p}.conversation_id AND came.sequence > ${p}.snoozed_after
            AND came.status = 'sent' AND came.kind <> 'system_event' AND came.imported IS NULL AND came.author_id IS DISTINCT FROM ${p}.actor_id
        ))`;
}

/** SQL: these columns of a table or alias. */
export function shownParticipantColumns(alias: string): string {
  return SHOWN_COLUMNS.map((column) => `${alias}.${column}`).join(', ');
}

const SHOWN_COLUMNS = [
  'id',
  'actor_id',
  'type',
  'role',
  'membership',
  'notifications',
  'muted_until',
  'read_sequence',
  'agent_trigger_policy',
  'agent_trigger_keywords',
  'metadata',
  'via_group_id',
] as const satisfies readonly (keyof ParticipantRow)[];

export type ShownParticipant = Pick<ParticipantRow, (typeof SHOWN_COLUMNS)[number]>;

/** Returns whether the participant has muted its conversation and the mute has not ended. */
export function isMuted({ notifications, muted_until }: Muting): boolean {
  return notifications === 'muted' && (muted_until === null || Date.parse(muted_until) > Date.now());
}

/** SQL: the same as a condition on the participant `p`. */
export function hasMuted(p: string): string {
  return `(${p}.notifications = 'muted' AND coalesce(${p}.muted_until > clock_timestamp(), true))`;
}

/** A reader, as far as the representation depends on it. A Principal is one. */
export interface ParticipantViewer {
  readonly customer: boolean;
}

/** Represents the readers of the team. */
export const TEAM_READER: ParticipantViewer = { customer: false };

type Muting = Pick<ParticipantRow, 'notifications' | 'muted_until'>;

/**
 * Returns a row as readers see it (docs/contract.md#participants); specified endpoints leave
 * `actor` null.
 */
export function presentParticipant(
  viewer: ParticipantViewer,
  row: ShownParticipant,
  actor: Actor | null,
): Participant {
  const muted = isMuted(row);
  return {
    id: row.id,
    object: 'conversation_participant',
    type: row.type,
    role: row.role,
    membership: row.membership,
    notifications: muted ? 'muted' : 'unmuted',
    muted_until: muted ? row.muted_until : null,
    last_read_sequence: readsMessages(row) ? row.read_sequence : null,
    actor,
    agent_trigger_policy: row.agent_trigger_policy,
    agent_trigger_keywords: [...row.agent_trigger_keywords],
    actor_id: row.actor_id,
    metadata: metadataFor(viewer, row.metadata ?? NO_METADATA),
    via_group_id: isMember(row) ? row.via_group_id : null,
  };
}

/** Returns whether it has a read position: only people who are members do. */
function readsMessages(row: Pick<ShownParticipant, 'type' | 'membership'>): boolean {
  return (row.type === 'user' || row.type === 'customer') && isMember(row);
}

/**
 * Returns the rows with their actors, as the companions show them, in their order, in one query.
 */
export async function presentParticipants(
  db: Db,
  viewer: ParticipantViewer,
  rows: readonly ShownParticipant[],
): Promise<Participant[]> {
  const actorIds = rows.flatMap((row) => row.actor_id ?? []);
  const actors = await readActors(db, actorIds);
  return rows.map((row) => presentParticipant(viewer, row, actors.get(row.actor_id ?? '') ?? null));
}
