import { ApiError, alreadyExists, notFound, repeated } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import type { PutGroupBody, UpdateGroupBody } from '@parley/protocol/resources/group.ts';
import { sql } from 'kysely';
import type { Principal } from '../../../api/access/principal.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { isUniqueViolation } from '../../../platform/db/connection/unavailable.ts';
import { auditAccount } from '../../audit/audit.ts';
import { readNamedActors } from '../../resources/actor.ts';
import { GROUP_COLUMNS, type GroupRow } from '../../resources/group.ts';
import { FOLDED } from '../../tables/folded-tables.ts';
import { createActor, writeActor } from '../actors/actors.ts';
import { defineNamedList } from '../collections/account-list.ts';
import { createOrChange, type Put, requiredToCreate } from '../collections/external-ids.ts';
import { enqueueRightsChanged } from '../rights/rights-changed.ts';

/** The persona behind every customer-visible reply (docs/contract.md#groups). */
export const CUSTOMER_SERVICE = 'Customer Service';

export interface NewGroup {
  readonly accountId: string;
  readonly name: string;
  /** Actor ids, as `readMemberIds` returns them. */
  readonly members?: readonly string[];
  readonly externalId?: string | null | undefined;
}

/**
 * Creates a roster or persona with the actor that messages show as its sender. Throws
 * `resource_exists` (param name or external_id).
 */
export async function createGroup(
  tx: Tx,
  { accountId, name, members = [], externalId = null }: NewGroup,
): Promise<GroupRow> {
  const actor = await createActor(tx, {
    account_id: accountId,
    type: 'group',
    name,
    external_id: externalId,
  });
  const group = await tx.kysely
    .insertInto('messaging_groups')
    .values({ id: newId('group'), account_id: accountId, actor_id: actor.id, name })
    .onConflict((conflict) => conflict.columns(['account_id', 'name']).doNothing())
    .returningAll()
    .executeTakeFirstOrThrow(() => alreadyExists('group', 'name'));
  await writeMembers(tx, group.id, members);
  return { ...group, avatar_url: null, external_id: externalId };
}

/** Throws `resource_not_found` (param id). */
export async function findGroup(db: Db, accountId: string, id: string): Promise<GroupRow> {
  const [row] = await db.query(FIND, accountId, id);
  if (row === undefined) throw notFound('group', 'id');
  return row;
}

/**
 * Reads as `findGroup` does, and locks the group until the transaction ends: nothing new can name
 * it.
 */
async function lockGroup(tx: Tx, accountId: string, id: string): Promise<GroupRow> {
  const [row] = await tx.query(LOCK, accountId, id);
  if (row === undefined) throw notFound('group', 'id');
  return row;
}

/** Replaces the members of a new or locked group. */
async function writeMembers(tx: Tx, groupId: string, memberIds: readonly string[]): Promise<void> {
  await tx.kysely.deleteFrom('group_members').where('group_id', '=', groupId).execute();
  if (memberIds.length === 0) return;
  const rows = memberIds.map((actor_id, position) => ({ group_id: groupId, actor_id, position }));
  await tx.kysely.insertInto('group_members').values(rows).execute();
}

/** The groups of an account, newest first; searchable by name. */
export const GROUPS = defineNamedList<GroupRow>('group', 't.actor_id', {
  name: 'groups',
  columns: GROUP_COLUMNS,
  from: 'messaging_groups t',
  folded: { table: FOLDED.groups, alias: 't' },
});

/**
 * Returns the members' actor ids in the order of the body. Throws for `members[i]`
 * `resource_not_found` (not an active actor of the account that the caller knows) or
 * `validation_failed` (neither a user nor an agent, or a duplicate).
 */
export async function readMemberIds(
  tx: Tx,
  principal: Principal,
  ids: readonly string[],
): Promise<readonly string[]> {
  const named = await readNamedActors(tx, principal, ids);
  const members = new Set<string>();
  for (const [index, id] of ids.entries()) {
    const param = `members[${index}]`;
    const actor = named.get(id);
    if (actor === undefined || actor.deactivated) throw notFound('user or agent', param);
    const isMember = (actor.type === 'user' && !actor.customer) || actor.type === 'agent';
    if (!isMember) {
      throw new ApiError('validation_failed', 'Only users and agents can be members of a group.', { param });
    }
    if (members.has(actor.id)) throw repeated(param);
    members.add(actor.id);
  }
  return [...members];
}

const FIND = statement<[accountId: string, id: string], GroupRow>('find-group')`
    SELECT ${GROUP_COLUMNS} FROM messaging_groups t WHERE t.account_id = $1 AND t.id = $2`;

const LOCK = statement<[accountId: string, id: string], GroupRow>('lock-group')`${FIND.text} FOR UPDATE OF t`;

/**
 * Update Group (docs/contract.md#groups), except its avatar. Conversations that were started from
 * the group keep their members; its cases follow (core/conversations/cases/follow-team.ts). Returns
 * the locked group in its previous state. Throws ApiError `resource_not_found` (param id or
 * `members[i]`), `validation_failed` (`members[i]`), `resource_exists` (param name or external_id)
 * or `resource_conflict` (a new name for the persona).
 */
export async function changeGroup(
  tx: Tx,
  principal: Principal,
  id: string,
  { name, members, avatar_s3_key: key, external_id: externalId }: UpdateGroupBody,
): Promise<GroupRow> {
  const group = await lockGroup(tx, principal.accountId, id);
  const hasNewName = name !== undefined && name !== group.name;
  const hasNewId = externalId !== undefined && externalId !== group.external_id;
  if (hasNewName) requireNoPersona(group, 'keeps its name');
  if (members !== undefined) {
    await writeMembers(tx, id, await readMemberIds(tx, principal, members));
    // Nodes cache who is notified in cases that are assigned to the group.
    await enqueueRightsChanged(tx, [group.actor_id]);
  }
  const fields = [
    ...(hasNewName ? ['name'] : []),
    ...(members === undefined ? [] : ['members']),
    ...(key === undefined ? [] : ['avatar']),
    ...(hasNewId ? ['external_id'] : []),
  ];
  if (fields.length === 0) return group;
  await tx.kysely
    .updateTable('messaging_groups')
    .set({ name: name ?? group.name, updated_at: sql<string>`later_than(updated_at)` })
    .where('id', '=', id)
    .execute()
    .catch((error: unknown) => {
      throw isUniqueViolation(error, 'messaging_groups_account_id_name_key')
        ? alreadyExists('group', 'name')
        : error;
    });
  if (hasNewName || hasNewId) {
    await changeActor(tx, group, {
      ...(hasNewName && { name }),
      ...(hasNewId && { external_id: externalId }),
    });
  }
  await auditAccount(tx, principal, 'group.updated', { group_id: id, fields });
  return group;
}

/**
 * Creates or changes the group with this external id. Throws as `readMemberIds`, `createGroup` and
 * `changeGroup`.
 */
export async function putGroup(
  tx: Tx,
  principal: Principal,
  externalId: string,
  body: PutGroupBody,
): Promise<Put<GroupRow>> {
  const { accountId } = principal;
  return createOrChange(tx, {
    accountId,
    kind: 'group',
    externalId,
    async create() {
      const name = requiredToCreate('name', body.name, 'group');
      const members = await readMemberIds(tx, principal, body.members ?? []);
      return createGroup(tx, { accountId, name, members, externalId });
    },
    async change(id) {
      await changeGroup(tx, principal, id, body);
      return findGroup(tx, accountId, id);
    },
  });
}

/**
 * Delete Group (DECISIONS.md#deleting-a-group). Its actor remains the author and sender of its
 * messages. Throws ApiError `resource_not_found` (param id), or `resource_conflict` for the persona
 * and while a conversation is assigned to the group or an inbox names it.
 */
export async function removeGroup(tx: Tx, principal: Principal, id: string): Promise<GroupRow> {
  const group = await lockGroup(tx, principal.accountId, id);
  requireNoPersona(group, 'cannot be deleted');
  // Precedes the count: a concurrent assignment ends first, and a later assignment finds the actor
  // deactivated.
  await changeActor(tx, group, { deactivated_at: sql<string>`clock_timestamp()`, external_id: null });
  const [uses] = await tx.query(COUNT_USES, group.actor_id, id);
  const { conversations, inboxes } = uses!;
  if (conversations > 0) {
    const message = `The group is the assignee of conversations (${conversations}). Assign them to another user or group before you delete it.`;
    throw new ApiError('resource_conflict', message);
  }
  if (inboxes > 0) {
    const message = `Inboxes name the group (${inboxes}). Give them another group and assignee before you delete it.`;
    throw new ApiError('resource_conflict', message);
  }
  await tx.query(DETACH_CONVERSATIONS, id);
  await tx.query(DETACH_DELETED_MAILBOXES, id);
  await tx.kysely.deleteFrom('group_members').where('group_id', '=', id).execute();
  await tx.kysely.deleteFrom('messaging_groups').where('id', '=', id).execute();
  await auditAccount(tx, principal, 'group.deleted', { group_id: id });
  return group;
}

/**
 * Throws for the persona: customer replies find it by name
 * (core/conversations/directory/directory.ts).
 */
function requireNoPersona({ name }: GroupRow, what: 'keeps its name' | 'cannot be deleted'): void {
  if (name !== CUSTOMER_SERVICE) return;
  throw new ApiError(
    'resource_conflict',
    `The group ${CUSTOMER_SERVICE} belongs to the service and ${what}.`,
  );
}

async function changeActor(
  tx: Tx,
  { actor_id: id }: GroupRow,
  changes: Parameters<typeof writeActor>[3],
): Promise<void> {
  await writeActor(tx, id, 'group', changes);
  await enqueueRightsChanged(tx, [id]);
}

const COUNT_USES = statement<
  [actorId: string, groupId: string],
  { readonly conversations: number; readonly inboxes: number }
>('count-group-uses')`
    SELECT
      (SELECT count(*) FROM conversations WHERE assignee_id = $1) AS conversations,
      (SELECT count(*) FROM inboxes WHERE (group_id = $2 OR assignee_id = $1) AND deleted_at IS NULL) AS inboxes`;

const DETACH_CONVERSATIONS = statement<[groupId: string]>('detach-conversations-of-group')`
    UPDATE conversations SET group_id = NULL WHERE group_id = $1`;

const DETACH_DELETED_MAILBOXES = statement<[groupId: string]>('detach-inboxes-of-group')`
    UPDATE inboxes SET group_id = NULL WHERE group_id = $1`;
