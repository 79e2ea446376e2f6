import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { CUSTOMER_SERVICE } from '../../accounts/groups/groups.ts';
import type { RosterEntry } from '../participants/roster.ts';

/** The group that answers in a case, and who takes part by it. */
export interface Team {
  /** Null if the account has no such group: its admins are then in the case by name. */
  readonly groupId: string | null;
  readonly entries: readonly RosterEntry[];
}

/** SQL: whether the actor `a` can be a member of a team. */
const CAN_ACT = `a.type IN ('user', 'agent') AND NOT a.customer AND a.deactivated_at IS NULL`;

/** SQL: whether a group has an active user. */
function hasUser(group: string): string {
  return `EXISTS (SELECT FROM group_members u JOIN actors a ON a.id = u.actor_id
      WHERE u.group_id = ${group} AND a.type = 'user' AND ${CAN_ACT})`;
}

/** SQL: the admins of an account, who stand in for a team without users. */
function admins(account: string): string {
  return `SELECT a.id, a.type, NULL::int AS place FROM actors a JOIN roles r ON r.id = a.role_id
      WHERE a.account_id = ${account} AND a.type = 'user' AND ${CAN_ACT} AND r.type = 'admin'`;
}

/**
 * SQL: rows (id, type, place) of the actors that join the cases of the group `g`: its active
 * members, and the admins of its account where no user is among those
 * (DECISIONS.md#the-team-of-a-case).
 */
export const JOINING = `SELECT a.id, a.type, m.position AS place FROM group_members m JOIN actors a ON a.id = m.actor_id
      WHERE m.group_id = g.id AND ${CAN_ACT}
      UNION ${admins('g.account_id')} AND NOT ${hasUser('g.id')}`;

/**
 * SQL: whether an actor may stay in the cases of a group that it came to by the group. Who is
 * deactivated stays, as in all conversations, and is back when it is activated.
 */
export function belongs(actorId: string, group: string): string {
  return `(EXISTS (SELECT FROM group_members m WHERE m.group_id = ${group} AND m.actor_id = ${actorId})
      OR EXISTS (SELECT FROM actors a JOIN roles r ON r.id = a.role_id WHERE a.id = ${actorId} AND r.type = 'admin')
        AND EXISTS (SELECT FROM messaging_groups WHERE id = ${group}) AND NOT ${hasUser(group)})`;
}

/**
 * Returns the team of a case that begins now, of the group of its inbox or widget, or of Customer
 * Service. Its members cannot change until the transaction ends.
 */
export async function readTeam(tx: Tx, accountId: string, ofOrigin: string | null): Promise<Team> {
  const groupId = await holdGroup(tx, accountId, ofOrigin);
  if (groupId === undefined) {
    const found = await tx.query(READ_ADMINS, accountId);
    return { groupId: null, entries: found.map(({ id }) => ({ type: 'user', actorId: id })) };
  }
  const joining = await tx.query(READ_JOINING, groupId);
  return { groupId, entries: joining.map(({ id, type }) => ({ type, actorId: id, viaGroupId: groupId })) };
}

/**
 * Returns the id of the group, or of Customer Service if the account has not that group, and holds
 * it: a change of its members waits until the transaction ends. Undefined if there is neither.
 */
export async function holdGroup(
  tx: Tx,
  accountId: string,
  groupId: string | null,
): Promise<string | undefined> {
  const [named] = groupId === null ? [] : await tx.query(HOLD, accountId, groupId);
  const [held] = named === undefined ? await tx.query(HOLD_PERSONA, accountId, CUSTOMER_SERVICE) : [named];
  return held?.id;
}

const HOLD = statement<[accountId: string, id: string], { id: string }>('hold-team')`
    SELECT id FROM messaging_groups WHERE account_id = $1 AND id = $2 FOR SHARE`;

const HOLD_PERSONA = statement<[accountId: string, name: string], { id: string }>('hold-team-of-persona')`
    SELECT id FROM messaging_groups WHERE account_id = $1 AND name = $2 FOR SHARE`;

const READ_JOINING = statement<[groupId: string], { id: string; type: 'user' | 'agent' }>('read-team')`
    SELECT t.id, t.type FROM messaging_groups g CROSS JOIN LATERAL (${JOINING}) t
    WHERE g.id = $1 ORDER BY t.place NULLS LAST, t.id`;

const READ_ADMINS = statement<[accountId: string], { id: string }>('read-admins-of-team')`
    SELECT t.id FROM (${admins('$1')}) t ORDER BY t.id`;
