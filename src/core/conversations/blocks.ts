import { ApiError, invalid, notFound } from '../../contract/protocol/errors.ts';
import { requirePermission } from '../../platform/access/authorize.ts';
import { type Principal, seesWholeAccount } from '../../platform/access/principal.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { enqueueRightsChanged } from '../accounts/rights-changed.ts';
import { audit } from '../audit/audit.ts';
import { enqueueChanged } from '../events/changes.ts';
import { type NamedActor, readNamedActors } from '../resources/actor.ts';
import {
  type BlockKey,
  type BlockRow,
  deleteBlock,
  followBlocks,
  haveCommonConversation,
  insertBlock,
  lockPair,
  raiseRosterVersions,
  readBlock,
} from './block-store.ts';
import { directKeyOf, lockConversationsOfMember } from './conversation-store.ts';

/** What became of a request. */
export interface Blocked {
  readonly row: BlockRow;
  readonly isNew: boolean;
  /** The subjects to announce once it is committed (platform/access/rights.ts). */
  readonly subjects: readonly string[];
}

/**
 * Blocks an actor (docs/contract.md#blocks): a customer for the team, in all its cases, or a user
 * for the caller, in their direct message. A send that sees the state before is committed before;
 * every later one is refused. Throws ApiError.
 */
export async function blockActor(tx: Tx, principal: Principal, id: string): Promise<Blocked> {
  const { accountId, actor } = principal;
  const blocked = await blockable(tx, principal, id);
  const key = keyOf(principal, blocked);
  const locked = await lockSubjects(tx, accountId, key);
  const row = await insertBlock(tx, { ...key, accountId, createdBy: actor.id });
  if (row === undefined) return { row: await readBlock(tx, key), isNew: false, subjects: [] };
  return { row, isNew: true, subjects: await follow(tx, principal, key, locked, true) };
}

/** Ends a block. Throws ApiError, `resource_not_found` where the actor is not blocked. */
export async function unblockActor(tx: Tx, principal: Principal, id: string): Promise<Blocked> {
  const key = keyOf(principal, await blockable(tx, principal, id));
  const locked = await lockSubjects(tx, principal.accountId, key);
  const row = await deleteBlock(tx, key);
  if (row === undefined) throw notFound('block', 'id');
  return { row, isNew: false, subjects: await follow(tx, principal, key, locked, false) };
}

/**
 * Customers are the team's to block, as far as the caller may see them; users block users for
 * themselves.
 */
async function blockable(tx: Tx, principal: Principal, id: string): Promise<NamedActor> {
  const actor = (await readNamedActors(tx, principal.accountId, [id])).get(id);
  if (actor === undefined) throw notFound('actor', 'id');
  if (actor.customer) {
    requirePermission(principal, 'messaging:update');
    const isSeen =
      seesWholeAccount(principal) || (await haveCommonConversation(tx, principal.actor.id, actor.id));
    if (!isSeen) throw notFound('actor', 'id');
    return actor;
  }
  if (actor.type !== 'user') throw invalid('id', 'Only customers and users can be blocked.');
  if (principal.actor.type !== 'user') {
    throw new ApiError('insufficient_permissions', 'Only users block other users, each for itself.');
  }
  if (actor.id === principal.actor.id) throw new ApiError('resource_conflict', 'You cannot block yourself.');
  return actor;
}

function keyOf({ actor }: Principal, { id, customer }: NamedActor): BlockKey {
  return { actorId: id, blockerId: customer ? null : actor.id };
}

/**
 * Locks what the block decides about: the cases of a customer, whose messages enter under that
 * lock, or the two users. Returns the ids of those cases.
 */
async function lockSubjects(
  tx: Tx,
  accountId: string,
  { actorId, blockerId }: BlockKey,
): Promise<readonly string[]> {
  if (blockerId !== null) {
    await lockPair(tx, accountId, directKeyOf([blockerId, actorId]));
    return [];
  }
  return (await lockConversationsOfMember(tx, actorId)).map(({ id }) => id);
}

/** Writes what follows from the change. Returns the subjects of the rights that changed. */
async function follow(
  tx: Tx,
  principal: Principal,
  { actorId, blockerId }: BlockKey,
  caseIds: readonly string[],
  isBlocked: boolean,
): Promise<readonly string[]> {
  if (blockerId === null) {
    await raiseRosterVersions(tx, caseIds);
    await audit(tx, {
      accountId: principal.accountId,
      conversationId: null,
      actorId: principal.actor.id,
      action: isBlocked ? 'customer.blocked' : 'customer.unblocked',
      details: { actor_id: actorId },
    });
    await enqueueRightsChanged(tx, [actorId]);
    return [actorId];
  }
  const changed = await followBlocks(tx, principal.accountId, directKeyOf([blockerId, actorId]));
  if (changed === undefined) return [];
  await enqueueRightsChanged(tx, [changed]);
  await enqueueChanged(tx, [{ event: 'conversation.updated', id: changed, stream: changed }]);
  return [changed];
}
