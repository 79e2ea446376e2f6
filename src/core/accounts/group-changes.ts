import { sql } from 'kysely';
import { ApiError, alreadyExists } from '../../contract/protocol/errors.ts';
import type { UpdateGroupBody } from '../../contract/protocol/resources/group.ts';
import type { Principal } from '../../platform/access/principal.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { isUniqueViolation } from '../../platform/db/connection/unique-violation.ts';
import { audit } from '../audit/audit.ts';
import type { GroupRow } from '../resources/group.ts';
import { CUSTOMER_SERVICE } from './accounts.ts';
import { lockGroup, readMemberIds, writeMembers } from './groups.ts';
import { enqueueRightsChanged } from './rights-changed.ts';

/**
 * Update Group (docs/contract.md#groups), but for its avatar. Conversations that were started from
 * the group keep their members. Returns the locked group as it was before. Throws ApiError
 * `resource_not_found` (param id or `members[i]`), `validation_failed` (`members[i]`),
 * `resource_exists` (param name) or `resource_conflict` (a new name for the persona).
 */
export async function changeGroup(
  tx: Tx,
  principal: Principal,
  id: string,
  { name, members, avatar_s3_key: key }: UpdateGroupBody,
): Promise<GroupRow> {
  const group = await lockGroup(tx, principal.accountId, id);
  const hasNewName = name !== undefined && name !== group.name;
  if (hasNewName) requireNoPersona(group, 'keeps its name');
  if (members !== undefined) {
    await writeMembers(tx, id, await readMemberIds(tx, principal.accountId, members));
  }
  const fields = [
    ...(hasNewName ? ['name'] : []),
    ...(members === undefined ? [] : ['members']),
    ...(key === undefined ? [] : ['avatar']),
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
  if (hasNewName) await writeActor(tx, group, { name });
  await record(tx, principal, 'group.updated', { group_id: id, fields });
  return group;
}

/**
 * Delete Group (docs/decisions.md#deleting-a-group). Its actor stays as the author and sender of
 * what it was. Throws ApiError `resource_not_found` (param id), and `resource_conflict` for the
 * persona and while a conversation is assigned to the group or an inbox names it.
 */
export async function removeGroup(tx: Tx, principal: Principal, id: string): Promise<GroupRow> {
  const group = await lockGroup(tx, principal.accountId, id);
  requireNoPersona(group, 'cannot be deleted');
  // Before the count: an assignment that is under way ends first, and a later one finds the actor
  // deactivated.
  await writeActor(tx, group, { deactivated_at: sql<string>`clock_timestamp()` });
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
  await tx.query(DETACH_DELETED_INBOXES, id);
  await tx.kysely.deleteFrom('group_members').where('group_id', '=', id).execute();
  await tx.kysely.deleteFrom('messaging_groups').where('id', '=', id).execute();
  await record(tx, principal, 'group.deleted', { group_id: id });
  return group;
}

/** Replies to customers find the persona by its name (core/conversations/directory.ts). */
function requireNoPersona({ name }: GroupRow, what: 'keeps its name' | 'cannot be deleted'): void {
  if (name !== CUSTOMER_SERVICE) return;
  throw new ApiError(
    'resource_conflict',
    `The group ${CUSTOMER_SERVICE} belongs to the service and ${what}.`,
  );
}

async function writeActor(
  tx: Tx,
  { actor_id: id }: GroupRow,
  changes: { readonly name?: string; readonly deactivated_at?: ReturnType<typeof sql<string>> },
): Promise<void> {
  await tx.kysely
    .updateTable('actors')
    .set({ ...changes, updated_at: sql<string>`later_than(updated_at)` })
    .where('id', '=', id)
    .execute();
  await enqueueRightsChanged(tx, [id]);
}

async function record(
  tx: Tx,
  { accountId, actor }: Principal,
  action: 'group.updated' | 'group.deleted',
  details: Readonly<Record<string, unknown>>,
): Promise<void> {
  await audit(tx, { accountId, conversationId: null, actorId: actor.id, action, details });
}

const COUNT_USES = statement<
  [actorId: string, groupId: string],
  { readonly conversations: number; readonly inboxes: number }
>({
  name: 'count-group-uses',
  text: `
    SELECT
      (SELECT count(*) FROM conversations WHERE assignee_id = $1) AS conversations,
      (SELECT count(*) FROM inboxes WHERE (group_id = $2 OR assignee_id = $1) AND deleted_at IS NULL) AS inboxes`,
});

const DETACH_CONVERSATIONS = statement<[groupId: string]>({
  name: 'detach-conversations-of-group',
  text: 'UPDATE conversations SET group_id = NULL WHERE group_id = $1',
});

const DETACH_DELETED_INBOXES = statement<[groupId: string]>({
  name: 'detach-inboxes-of-group',
  text: 'UPDATE inboxes SET group_id = NULL WHERE group_id = $1',
});
