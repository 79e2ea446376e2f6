import type { Selectable } from 'kysely';
import type { Db, Tx } from '../db/handle.ts';
import type { Schema } from '../db/schema.ts';
import { ApiError, notFound } from '../protocol/errors.ts';
import { newId } from '../protocol/ids.ts';
import {
  type Actor,
  type ActorFields,
  type MessagingGroup,
  presentActor,
} from '../protocol/resources/actor.ts';
import { defineAccountList } from './account-list.ts';
import { createActor } from './actors.ts';
import { presentGroup } from './group-present.ts';
import { readNamedActors } from './named-actors.ts';

export type GroupRow = Selectable<Schema['messaging_groups']>;

export interface NewGroup {
  readonly accountId: string;
  readonly name: string;
  /** Ids of users and agents: see readNamedActors. */
  readonly members?: readonly string[];
}

/**
 * A roster or persona with the actor that messages show as its sender. Throws `resource_exists` (param name), and for
 * `members[i]` `resource_not_found` (no actor of the account, or a deactivated one) or `validation_failed` (neither a
 * user nor an agent, or named before).
 */
export async function createGroup(tx: Tx, { accountId, name, members = [] }: NewGroup): Promise<GroupRow> {
  const memberIds = await readMemberIds(tx, accountId, members);
  const actor = await createActor(tx, { account_id: accountId, type: 'group', name });
  const group = await tx.kysely
    .insertInto('messaging_groups')
    .values({ id: newId('group'), account_id: accountId, actor_id: actor.id, name })
    .onConflict((conflict) => conflict.columns(['account_id', 'name']).doNothing())
    .returningAll()
    .executeTakeFirst();
  if (group === undefined) {
    throw new ApiError('resource_exists', `The account has a group named "${name}".`, { param: 'name' });
  }
  if (memberIds.length > 0) {
    const rows = memberIds.map((actor_id, position) => ({ group_id: group.id, actor_id, position }));
    await tx.kysely.insertInto('group_members').values(rows).execute();
  }
  return group;
}

/** Groups as sub-objects of other resources show them, by their ids: without members. */
export async function readGroups(
  db: Db,
  ids: readonly string[],
): Promise<ReadonlyMap<string, MessagingGroup>> {
  if (ids.length === 0) return new Map();
  const rows = await db.query<GroupRow>(READ_GROUPS, [ids]);
  return new Map(rows.map((row) => [row.id, presentGroup(row, null)]));
}

/** Who is on the rosters, by group, in the order in which they were put there; a group without members is left out. */
export async function readMembers(
  db: Db,
  groupIds: readonly string[],
): Promise<ReadonlyMap<string, Actor[]>> {
  const rows = await db.query<MemberRow>(READ_MEMBERS, [groupIds]);
  const members = new Map<string, Actor[]>();
  for (const [groupId, ofGroup] of Map.groupBy(rows, (row) => row.group_id)) {
    members.set(groupId, ofGroup.map(presentActor));
  }
  return members;
}

const GROUP_COLUMNS = 't.id, t.account_id, t.actor_id, t.name, t.created_at, t.updated_at';

/** The groups of an account, newest first; searched by their names. */
export const GROUPS = defineAccountList<GroupRow>({
  name: 'groups',
  columns: GROUP_COLUMNS,
  from: 'messaging_groups t',
  search: ['t.name'],
});

const READ_GROUPS = {
  name: 'read-groups',
  text: `SELECT ${GROUP_COLUMNS} FROM messaging_groups t WHERE t.id = ANY($1)`,
};

interface MemberRow extends ActorFields {
  readonly group_id: string;
}

const READ_MEMBERS = {
  name: 'read-group-members',
  text: `
    SELECT m.group_id, a.id, a.type, a.name, a.handle, a.avatar_url
    FROM group_members m JOIN actors a ON a.id = m.actor_id
    WHERE m.group_id = ANY($1) ORDER BY m.group_id, m.position`,
};

/** Returns the actor ids of the members, in the order of the body. Throws as createGroup. */
async function readMemberIds(tx: Tx, accountId: string, ids: readonly string[]): Promise<readonly string[]> {
  const named = await readNamedActors(tx, accountId, ids);
  const members = new Set<string>();
  for (const [index, id] of ids.entries()) {
    const param = `members[${index}]`;
    const actor = named.get(id);
    if (actor === undefined || actor.deactivated) {
      throw notFound('user or agent', param);
    }
    const isMember = (actor.type === 'user' && !actor.customer) || actor.type === 'agent';
    if (!isMember) {
      throw new ApiError('validation_failed', 'Only users and agents are members of groups.', { param });
    }
    if (members.has(actor.id)) {
      throw new ApiError('validation_failed', 'This actor is already among the members.', { param });
    }
    members.add(actor.id);
  }
  return [...members];
}
