import type { Database } from '../../../platform/db/connection/database.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { defineTopic } from '../../../platform/db/queue/topic.ts';
import { enqueueRightsChanged } from '../../accounts/rights/rights-changed.ts';
import { auditAll } from '../../audit/audit.ts';
import { type Change, enqueueChanged } from '../../events/changes.ts';
import { isMember } from '../../resources/membership.ts';
import { holdGroup } from './team.ts';
import {
  adoptCases,
  joinTeam,
  leaveTeam,
  type MovedParticipant,
  moveCases,
  promoteOwners,
  readAccountOfTeam,
} from './team-store.ts';

/**
 * The team of cases may have changed: a job. Postgres adds it (migrations/0056_teams.ts), and so
 * does the action for earlier cases (group-cases.ts).
 */
export const TEAMS_CHANGED = defineTopic<TeamsChanged>('teams.changed');

export interface TeamsChanged {
  readonly group_id: string;
  /** Only this case, which was opened again. */
  readonly conversation_id?: string;
  /** Whether open cases of the group that have no team get it. */
  readonly adopts?: true;
}

/**
 * Makes the participants of a group's cases those that its members are now. Handles TEAMS_CHANGED:
 * each part is a transaction that looks at the present state, so it may stop anywhere, run again,
 * and run twice at once.
 */
export async function followTeam(database: Database, changed: TeamsChanged): Promise<void> {
  const { group_id: groupId, conversation_id: only = null, adopts } = changed;
  const accountId = await readAccountOfTeam(database, groupId);
  if (accountId === undefined) return;
  await repeat(database, async (tx) => {
    await holdGroup(tx, accountId, groupId);
    const left = await leaveTeam(tx, groupId);
    if (left !== undefined) await announceMoved(tx, left, []);
    return left !== undefined;
  });
  // A group that was deleted leaves its cases to Customer Service.
  const team = await database.transaction((tx) => holdGroup(tx, accountId, groupId));
  if (team !== groupId) await repeat(database, (tx) => moveCases(tx, groupId, team ?? null));
  if (team === undefined) return;
  if (adopts) await repeat(database, (tx) => adoptCases(tx, accountId, team));
  let after: string | undefined = '';
  await repeat(database, async (tx) => {
    if (after === undefined || (await holdGroup(tx, accountId, team)) !== team) return false;
    const part = await joinTeam(tx, team, after, only);
    await announceMoved(tx, [], part.joined);
    after = part.after;
    return true;
  });
}

/**
 * Announces who left and who joined by a group, and audits it. No message of the timeline says so,
 * and no notification: a group may have thousands of cases.
 */
async function announceMoved(
  tx: Tx,
  left: readonly MovedParticipant[],
  joined: readonly MovedParticipant[],
): Promise<void> {
  const conversationIds = [...new Set([...left, ...joined].map(({ conversation_id }) => conversation_id))];
  if (conversationIds.length === 0) return;
  const promoted = await promoteOwners(tx, conversationIds);
  const isNew = new Set(joined.map(({ id }) => id));
  const [gone, stayed] = [left.filter((one) => !isMember(one)), left.filter(isMember)];
  const changed = [...stayed, ...promoted.filter(({ id }) => !isNew.has(id))];
  await enqueueRightsChanged(tx, conversationIds);
  await enqueueChanged(tx, [
    ...gone.flatMap((one) => movesOf(one, 'removed')),
    ...changed.map(
      ({ id, conversation_id: stream }): Change => ({ event: 'participant.updated', id, stream }),
    ),
    ...joined.flatMap((one) => movesOf(one, 'added')),
  ]);
  await auditAll(tx, [
    ...gone.map((one) => audited(one, 'participant.removed')),
    ...joined.map((one) => audited(one, 'participant.added')),
    ...promoted.map((one) => audited(one, 'participant.changed')),
  ]);
}

function movesOf(
  { id, conversation_id, actor_id }: MovedParticipant,
  move: 'added' | 'removed',
): readonly Change[] {
  return [
    { event: `participant.${move}`, id, stream: conversation_id },
    { event: `conversation.${move}`, id: conversation_id, stream: actor_id! },
  ];
}

function audited(
  { id, account_id, conversation_id, actor_id, role, via_group_id }: MovedParticipant,
  action: 'participant.added' | 'participant.removed' | 'participant.changed',
) {
  const details = {
    participant_id: id,
    actor_id,
    ...(action !== 'participant.removed' && { role }),
    via_group_id,
  };
  return { accountId: account_id, conversationId: conversation_id, action, details };
}

/** Makes transactions until one returns false. */
async function repeat(database: Database, part: (tx: Tx) => Promise<boolean>): Promise<void> {
  while (await database.transaction(part));
}
