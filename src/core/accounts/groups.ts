import { ApiError, alreadyExists, notFound, repeated } from '../../contract/protocol/errors.ts';
import { newId } from '../../contract/protocol/ids.ts';
import type { Db, Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { readNamedActors } from '../resources/actor.ts';
import { GROUP_COLUMNS, type GroupRow } from '../resources/group.ts';
import { defineAccountList } from './account-list.ts';
import { createActor } from './actors.ts';

export interface NewGroup {
  readonly accountId: string;
  readonly name: string;
  /** Ids of users and agents: see readNamedActors. */
  readonly members?: readonly string[];
}

/**
 * Creates a roster or persona with the actor that messages show as its sender. Throws
 * `resource_exists` (param name), and for `members[i]` `resource_not_found` (not an active actor of
 * the account) or `validation_failed` (neither a user nor an agent, or named before).
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
    throw alreadyExists('group', 'name');
  }
  await writeMembers(tx, group.id, memberIds);
  return { ...group, avatar_url: null };
}

/** Throws `resource_not_found` (param id). */
export async function findGroup(db: Db, accountId: string, id: string): Promise<GroupRow> {
  const [row] = await db.query(FIND, accountId, id);
  if (row === undefined) throw notFound('group', 'id');
  return row;
}

/**
 * Like `findGroup`; the group is locked until the transaction ends, and cannot be named by anything
 * new meanwhile.
 */
export async function lockGroup(tx: Tx, accountId: string, id: string): Promise<GroupRow> {
  const [row] = await tx.query(LOCK, accountId, id);
  if (row === undefined) throw notFound('group', 'id');
  return row;
}

/** Replaces the members of a group that is new or locked. */
export async function writeMembers(tx: Tx, groupId: string, memberIds: readonly string[]): Promise<void> {
  await tx.kysely.deleteFrom('group_members').where('group_id', '=', groupId).execute();
  if (memberIds.length === 0) return;
  const rows = memberIds.map((actor_id, position) => ({ group_id: groupId, actor_id, position }));
  await tx.kysely.insertInto('group_members').values(rows).execute();
}

/** The groups of an account, newest first; searched by their names. */
export const GROUPS = defineAccountList<GroupRow>({
  name: 'groups',
  columns: GROUP_COLUMNS,
  from: 'messaging_groups t',
  search: ['t.name'],
});

/** Returns the actor ids of the members, in the order of the body. Throws as createGroup. */
export async function readMemberIds(
  tx: Tx,
  accountId: string,
  ids: readonly string[],
): Promise<readonly string[]> {
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
      throw new ApiError('validation_failed', 'Only users and agents can be members of a group.', { param });
    }
    if (members.has(actor.id)) {
      throw repeated(param);
    }
    members.add(actor.id);
  }
  return [...members];
}

const FIND = statement<[accountId: string, id: string], GroupRow>({
  name: 'find-group',
  text: `SELECT ${GROUP_COLUMNS} FROM messaging_groups t WHERE t.account_id = $1 AND t.id = $2`,
});

const LOCK = statement<[accountId: string, id: string], GroupRow>({
  name: 'lock-group',
  text: `${FIND.text} FOR UPDATE OF t`,
});
