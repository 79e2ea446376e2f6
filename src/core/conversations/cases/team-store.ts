import { newId } from '@parley/protocol/ids.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { setTouched } from '../../../platform/db/tables/touched.ts';
import { CUSTOMER_SERVICE } from '../../accounts/groups/groups.ts';
import { IS_MEMBER } from '../../resources/membership.ts';
import type { ParticipantRow } from '../../resources/participant.ts';
import { ORIGIN_OF_CASE, personaGroup } from '../directory/persona.ts';
import { lockConversations } from '../rows/conversation-store.ts';
import { belongs, JOINING } from './team.ts';

/** SQL: whether the case `c` is open. The triggers of migrations/0056_teams.ts repeat it. */
const IS_OPEN = `c.status = 'active' AND c.deleted_at IS NULL AND c.workflow_status IS DISTINCT FROM 'resolved'`;

/** A participant that a change of a team added, removed or changed. */
export type MovedParticipant = Pick<
  ParticipantRow,
  'id' | 'account_id' | 'conversation_id' | 'actor_id' | 'role' | 'membership' | 'via_group_id'
>;

const MOVED = 'p.id, p.account_id, p.conversation_id, p.actor_id, p.role, p.membership, p.via_group_id';

/** Returns the account of the cases of a group, or undefined if it has none. */
export async function readAccountOfTeam(db: Db, groupId: string): Promise<string | undefined> {
  const [row] = await db.query(READ_ACCOUNT, groupId);
  return row?.account_id;
}

/** Most participants that one transaction adds or removes: their conversations stay locked. */
const PARTICIPANTS_AT_ONCE = 200;

/** Most cases that one transaction looks at, or gives a team. */
const CASES_AT_ONCE = 100;

/**
 * Removes participants that came to their case by the group and do not belong to it any more; the
 * assignee of a case stays, as if it was added by name. Locks their conversations. Returns
 * undefined if there are none.
 */
export async function leaveTeam(tx: Tx, groupId: string): Promise<MovedParticipant[] | undefined> {
  const leaving = await tx.query(FIND_LEAVING, groupId, PARTICIPANTS_AT_ONCE);
  if (leaving.length === 0) return undefined;
  await lockConversations(tx, [...new Set(leaving.map(({ conversation_id }) => conversation_id))]);
  const ids = leaving.map(({ id }) => id);
  return tx.query(LEAVE, ids, groupId);
}

/** A part of the joining of a group's cases. */
interface JoinedPart {
  readonly joined: readonly MovedParticipant[];
  /** The case behind which to go on, in the order of ids; undefined at the end. */
  readonly after: string | undefined;
}

/**
 * Adds members of the group to its open cases that lack them, behind a case or in one alone. Who
 * left the case otherwise than by the group stays away. Who joins has read everything until then:
 * hundreds of cases would otherwise be unread at once. Locks the conversations; the caller holds
 * the group.
 */
export async function joinTeam(
  tx: Tx,
  groupId: string,
  after: string,
  only: string | null,
): Promise<JoinedPart> {
  const cases = await tx.query(READ_CASES, groupId, after, only, CASES_AT_ONCE);
  const ids = cases.map(({ id }) => id);
  const pairs = await tx.query(FIND_LACKING, groupId, ids, PARTICIPANTS_AT_ONCE);
  const lacking = [...new Set(pairs.map(({ conversation_id }) => conversation_id))];
  await lockConversations(tx, lacking);
  const rows = pairs.map((pair) => ({ id: newId('participant'), ...pair }));
  const joined = rows.length === 0 ? [] : await tx.query(JOIN, groupId, JSON.stringify(rows));
  // The last one may lack more.
  if (pairs.length === PARTICIPANTS_AT_ONCE) {
    return { joined, after: ids[ids.indexOf(lacking.at(-1)!) - 1] ?? after };
  }
  return { joined, after: ids.length < CASES_AT_ONCE ? undefined : ids.at(-1) };
}

/** Gives cases without an owner their first user as one (DECISIONS.md#the-team-of-a-case). */
export function promoteOwners(tx: Tx, conversationIds: readonly string[]): Promise<MovedParticipant[]> {
  return tx.query(PROMOTE, conversationIds);
}

/** Gives cases of a group another one as their team. Returns whether there were any. */
export async function moveCases(tx: Tx, from: string, to: string | null): Promise<boolean> {
  return (await tx.query(MOVE, from, to, CASES_AT_ONCE)).length > 0;
}

/** Gives open cases of the group that have no team this one. Returns whether there were any. */
export async function adoptCases(tx: Tx, accountId: string, groupId: string): Promise<boolean> {
  return (await tx.query(ADOPT, accountId, CUSTOMER_SERVICE, groupId, CASES_AT_ONCE)).length > 0;
}

/** The open cases of a group: those of which it is the team, and those that have none. */
export async function countCases(
  db: Db,
  accountId: string,
  groupId: string,
): Promise<{ readonly open: number; readonly without_members: number }> {
  const [counted] = await db.query(COUNT, accountId, CUSTOMER_SERVICE, groupId);
  return counted!;
}

const READ_ACCOUNT = statement<[groupId: string], { account_id: string }>('read-account-of-team')`
    (SELECT account_id FROM conversations WHERE team_group_id = $1 LIMIT 1)
    UNION ALL (SELECT account_id FROM participants WHERE via_group_id = $1 LIMIT 1)
    UNION ALL (SELECT account_id FROM messaging_groups WHERE id = $1)
    LIMIT 1`;

const FIND_LEAVING = statement<[groupId: string, limit: number], { id: string; conversation_id: string }>(
  'find-leaving-team',
)`
    SELECT p.id, p.conversation_id FROM participants p
    WHERE p.via_group_id = $1 AND p.${IS_MEMBER} AND NOT ${belongs('p.actor_id', '$1')}
    ORDER BY p.conversation_id LIMIT $2`;

const LEAVE = statement<[ids: readonly string[], groupId: string], MovedParticipant>('leave-team')`
    UPDATE participants p
    SET membership = CASE WHEN c.assignee_id = p.actor_id THEN p.membership ELSE 'removed' END,
      via_group_id = CASE WHEN c.assignee_id = p.actor_id THEN NULL ELSE p.via_group_id END,
      role = CASE WHEN c.assignee_id = p.actor_id THEN p.role ELSE 'member' END,
      ${setTouched('later_than(p.updated_at)')}
    FROM conversations c
    WHERE p.id = ANY($1) AND p.via_group_id = $2 AND p.${IS_MEMBER} AND c.id = p.conversation_id
    RETURNING ${MOVED}`;

const READ_CASES = statement<
  [groupId: string, after: string, only: string | null, limit: number],
  { id: string }
>('read-open-cases-of-team')`
    SELECT c.id FROM conversations c
    WHERE c.team_group_id = $1 AND c.id > $2 AND ($3::text IS NULL OR c.id = $3) AND ${IS_OPEN}
    ORDER BY c.id LIMIT $4`;

const FIND_LACKING = statement<
  [groupId: string, conversationIds: readonly string[], limit: number],
  { conversation_id: string; actor_id: string; type: string }
>('find-lacking-team')`
    WITH team AS MATERIALIZED (
      SELECT t.* FROM messaging_groups g CROSS JOIN LATERAL (${JOINING}) t WHERE g.id = $1
    )
    SELECT c.id AS conversation_id, t.id AS actor_id, t.type FROM unnest($2::text[]) AS c(id) CROSS JOIN team t
    WHERE NOT EXISTS (
      SELECT FROM participants p WHERE p.conversation_id = c.id AND p.actor_id = t.id
        AND (p.${IS_MEMBER} OR p.via_group_id IS NULL))
    ORDER BY c.id COLLATE "C", t.place NULLS LAST, t.id LIMIT $3`;

const JOIN = statement<[groupId: string, rows: string], MovedParticipant>('join-team')`
    INSERT INTO participants AS p (id, account_id, conversation_id, actor_id, type, agent_trigger_policy, via_group_id,
      read_sequence, created_at, updated_at)
    SELECT n.id, c.account_id, c.id, n.actor_id, n.type, CASE WHEN n.type = 'agent' THEN 'mention' END, $1,
      greatest(c.purged_through, (SELECT max(m.sequence) FROM messages m
        WHERE m.conversation_id = c.id AND m.sequence IS NOT NULL)), at, at
    FROM ROWS FROM (json_to_recordset($2::json) AS (id text, conversation_id text, actor_id text, type text))
        WITH ORDINALITY AS n
      JOIN conversations c ON c.id = n.conversation_id,
      LATERAL (SELECT statement_timestamp() + n.ordinality * interval '1 microsecond' AS at) times
    WHERE c.team_group_id = $1 AND ${IS_OPEN}
    ORDER BY n.ordinality
    ON CONFLICT (conversation_id, actor_id) DO UPDATE SET membership = 'active', via_group_id = $1, snoozed_until = NULL,
      read_sequence = greatest(p.read_sequence, excluded.read_sequence), ${setTouched('later_than(p.updated_at)')}
    WHERE NOT p.${IS_MEMBER} AND p.via_group_id IS NOT NULL
    RETURNING ${MOVED}`;

const PROMOTE = statement<[conversationIds: readonly string[]], MovedParticipant>('promote-owners-of-cases')`
    UPDATE participants p SET role = 'owner', ${setTouched('later_than(p.updated_at)')}
    FROM (
      SELECT DISTINCT ON (f.conversation_id) f.id FROM participants f JOIN actors a ON a.id = f.actor_id
      WHERE f.conversation_id = ANY($1) AND f.type = 'user' AND f.role <> 'viewer' AND f.${IS_MEMBER}
        AND a.deactivated_at IS NULL AND NOT EXISTS (
          SELECT FROM participants o
          WHERE o.conversation_id = f.conversation_id AND o.role = 'owner' AND o.${IS_MEMBER})
      ORDER BY f.conversation_id, f.created_at, f.id
    ) AS first
    WHERE p.id = first.id
    RETURNING ${MOVED}`;

const MOVE = statement<[from: string, to: string | null, limit: number], { id: string }>(
  'move-cases-of-team',
)`
    UPDATE conversations SET team_group_id = $2
    WHERE id IN (SELECT id FROM conversations WHERE team_group_id = $1 ORDER BY id LIMIT $3 FOR NO KEY UPDATE)
    RETURNING id`;

/**
 * SQL: whether the open case `c` was opened before it could have a team. A case that the team made
 * for people whom it named, without inbox and widget, is theirs.
 */
const LACKS_TEAM = `c.account_id = $1 AND c.audience = 'customer' AND c.team_group_id IS NULL AND ${IS_OPEN}
      AND (c.inbox_id IS NOT NULL OR c.widget_id IS NOT NULL OR NOT EXISTS (
        SELECT FROM participants p WHERE p.conversation_id = c.id AND p.type = 'user' AND p.${IS_MEMBER}))
      AND ${personaGroup('$2')} = $3`;

const ADOPT = statement<
  [accountId: string, personaName: string, groupId: string, limit: number],
  { id: string }
>('adopt-cases')`
    UPDATE conversations SET team_group_id = $3
    WHERE id IN (
      SELECT c.id FROM conversations c ${ORIGIN_OF_CASE} WHERE ${LACKS_TEAM}
      ORDER BY c.id LIMIT $4 FOR NO KEY UPDATE OF c
    )
    RETURNING id`;

const COUNT = statement<
  [accountId: string, personaName: string, groupId: string],
  { open: number; without_members: number }
>('count-cases-of-group')`
    SELECT (SELECT count(*) FROM conversations c WHERE c.team_group_id = $3 AND ${IS_OPEN}) AS open,
      (SELECT count(*) FROM conversations c ${ORIGIN_OF_CASE} WHERE ${LACKS_TEAM}) AS without_members`;
