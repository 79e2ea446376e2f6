import {
  type Actor,
  type ActorFields,
  MessagingGroup,
  presentActor,
} from '@parley/protocol/resources/actor.ts';
import type { Selectable } from 'kysely';
import type { Db } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';
import { type Acquainted, isKnown } from './known-users.ts';
import { presentAs } from './present-as.ts';

export interface GroupRow extends Selectable<Schema['messaging_groups']> {
  readonly avatar_url: string | null;
  readonly external_id: string | null;
}

/** Columns of the table under the alias `t`. */
export const GROUP_COLUMNS = `t.id, t.account_id, t.actor_id, t.name, t.created_at, t.updated_at,
  (SELECT a.avatar_url FROM actors a WHERE a.id = t.actor_id) AS avatar_url,
  (SELECT a.external_id FROM actors a WHERE a.id = t.actor_id) AS external_id`;

/** Returns groups as sub-objects of other resources, by their ids, without members. */
export async function readGroups(
  db: Db,
  ids: readonly string[],
): Promise<ReadonlyMap<string, MessagingGroup>> {
  if (ids.length === 0) return new Map();
  const rows = await db.query(READ_GROUPS, ids);
  return new Map(rows.map((row) => [row.id, presentGroup(row, null)]));
}

/**
 * Returns the members by group that `reader` knows, in the order of the roster; a group without any
 * is left out.
 */
export async function readMembers(
  db: Db,
  groupIds: readonly string[],
  reader: Acquainted,
): Promise<ReadonlyMap<string, Actor[]>> {
  const rows = await db.query(READ_MEMBERS, groupIds, reader);
  const members = new Map<string, Actor[]>();
  for (const [groupId, ofGroup] of Map.groupBy(rows, (row) => row.group_id)) {
    members.set(groupId, ofGroup.map(presentActor));
  }
  return members;
}

/** Returns a group; `members` is null if not requested (docs/contract.md#groups). */
export function presentGroup(row: GroupRow, members: Actor[] | null): MessagingGroup {
  return presentAs(MessagingGroup, { ...row, members });
}

interface MemberRow extends ActorFields {
  readonly group_id: string;
}

const READ_GROUPS = statement<[ids: readonly string[]], GroupRow>('read-groups')`
    SELECT ${GROUP_COLUMNS} FROM messaging_groups t WHERE t.id = ANY($1)`;

const READ_MEMBERS = statement<[groupIds: readonly string[], reader: Acquainted], MemberRow>(
  'read-group-members',
)`
    SELECT m.group_id, a.id, a.type, a.name, a.handle, a.avatar_url, a.external_id, a.username
    FROM group_members m JOIN actors a ON a.id = m.actor_id
    WHERE m.group_id = ANY($1) AND ${isKnown('$2')} ORDER BY m.group_id, m.position`;
