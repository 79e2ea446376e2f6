import { ApiError, invalid, notFound } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import type { Block } from '@parley/protocol/resources/participant.ts';
import type { Selectable } from 'kysely';
import { requirePermission } from '../../../api/access/authorize.ts';
import { type Principal, seesWholeAccount } from '../../../api/access/principal.ts';
import type { Db, Querier, Tx } from '../../../platform/db/connection/handle.ts';
import { keysetList, pages } from '../../../platform/db/connection/keyset.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import { setTouched } from '../../../platform/db/tables/touched.ts';
import { enqueueRightsChanged } from '../../accounts/rights/rights-changed.ts';
import { auditAccount } from '../../audit/audit.ts';
import { enqueueChanged } from '../../events/changes.ts';
import { isBlockedByTeam, type NamedActor, readActors, readNamedActors } from '../../resources/actor.ts';
import { acquainted } from '../../resources/known-users.ts';
import { IS_MEMBER } from '../../resources/membership.ts';
import { directKeyOf, lockConversationsOfMember } from '../rows/conversation-store.ts';

export interface Blocked {
  readonly row: BlockRow;
  readonly isNew: boolean;
  /** The subjects to announce once it is committed (api/access/rights.ts). */
  readonly subjects: readonly string[];
}

/**
 * Blocks an actor (docs/contract.md#blocks): a customer for the team, in all its cases, or a user
 * for the caller, in their direct message. A send that sees the state before the block commits
 * before it; every later send is refused. Throws ApiError.
 */
export async function blockActor(tx: Tx, principal: Principal, id: string): Promise<Blocked> {
  const { accountId, actor } = principal;
  const blocked = await blockable(tx, principal, id);
  const key = keyOf(principal, blocked);
  const locked = await lockSubjects(tx, accountId, key);
  const row = await tx.kysely
    .insertInto('blocks')
    .values({ id: newId('block'), account_id: accountId, ...key, created_by: actor.id })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) {
    const present = await tx.kysely
      .selectFrom('blocks')
      .selectAll()
      .where('actor_id', '=', key.actor_id)
      .where('blocker_id', key.blocker_id === null ? 'is' : '=', key.blocker_id)
      .executeTakeFirstOrThrow();
    return { row: present, isNew: false, subjects: [] };
  }
  return { row, isNew: true, subjects: await follow(tx, principal, key, locked, true) };
}

/** Ends a block. Throws ApiError `resource_not_found` if the actor is not blocked. */
export async function unblockActor(tx: Tx, principal: Principal, id: string): Promise<Blocked> {
  // The one that the caller blocked is named by the list of its blocks, known or not.
  const [own] = await tx.query(FIND_OWN, id, principal.actor.id);
  const key = own ?? keyOf(principal, await blockable(tx, principal, id));
  const locked = await lockSubjects(tx, principal.accountId, key);
  const row = await tx.kysely
    .deleteFrom('blocks')
    .where('actor_id', '=', key.actor_id)
    .where('blocker_id', key.blocker_id === null ? 'is' : '=', key.blocker_id)
    .returningAll()
    .executeTakeFirstOrThrow(() => notFound('block', 'id'));
  return { row, isNew: false, subjects: await follow(tx, principal, key, locked, false) };
}

/** Returns the actor to block: a customer that the caller sees, for the team, or another user. */
async function blockable(tx: Tx, principal: Principal, id: string): Promise<NamedActor> {
  const actor = (await readNamedActors(tx, principal, [id])).get(id);
  if (actor === undefined) throw notFound('actor', 'id');
  if (actor.customer) {
    requirePermission(principal, 'messaging:update');
    const isSeen =
      seesWholeAccount(principal) || (await tx.query(FIND_COMMON, principal.actor.id, actor.id)).length > 0;
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
  return { actor_id: id, blocker_id: customer ? null : actor.id };
}

/**
 * Locks the subject of the block: the two users, or the cases of a customer, whose messages enter
 * under that lock. Returns the ids of those cases.
 */
async function lockSubjects(
  tx: Tx,
  accountId: string,
  { actor_id, blocker_id }: BlockKey,
): Promise<readonly string[]> {
  if (blocker_id !== null) {
    await lockPair(tx, accountId, directKeyOf([blocker_id, actor_id]));
    return [];
  }
  return (await lockConversationsOfMember(tx, actor_id)).map(({ id }) => id);
}

/** Writes the consequences of a change. Returns the subjects of the rights that changed. */
async function follow(
  tx: Tx,
  principal: Principal,
  { actor_id, blocker_id }: BlockKey,
  caseIds: readonly string[],
  isBlocked: boolean,
): Promise<readonly string[]> {
  if (blocker_id === null) {
    // Makes nodes read again which members may write.
    await tx.query(RAISE_ROSTER_VERSIONS, caseIds);
    const action = isBlocked ? 'customer.blocked' : 'customer.unblocked';
    await auditAccount(tx, principal, action, { actor_id });
    await enqueueRightsChanged(tx, [actor_id]);
    return [actor_id];
  }
  const changed = await followBlocks(tx, principal.accountId, directKeyOf([blocker_id, actor_id]));
  if (changed === undefined) return [];
  await enqueueRightsChanged(tx, [changed]);
  await enqueueChanged(tx, [{ event: 'conversation.updated', id: changed, stream: changed }]);
  return [changed];
}

export type BlockRow = Selectable<Schema['blocks']>;

/** `blocker_id` is null for a block by the team. */
type BlockKey = Pick<BlockRow, 'actor_id' | 'blocker_id'>;

/** Yields the blocks by a person and the team's block of it, without blocks by other users. */
export function readBlocksOf(db: Db, actorId: string): AsyncIterable<BlockRow[]> {
  const read = (after: string, size: number) => db.query(READ_BLOCKS_OF, actorId, after, size);
  return pages(500, '', read, ({ id }) => id);
}

/** Locks the two users until the transaction ends, for a block or a new direct message. */
export async function lockPair(tx: Tx, accountId: string, directKey: string): Promise<void> {
  await tx.query(LOCK_PAIR, `blocks ${accountId} ${directKey}`);
}

/** Returns whether one of the two has blocked the other. */
export async function isPairBlocked(tx: Tx, directKey: string): Promise<boolean> {
  const [one, other] = directKey.split(' ');
  return (await tx.query(FIND_IN_PAIR, one!, other!)).length > 0;
}

/**
 * Opens or closes the direct message of two locked users, as their blocks say. Returns its id, or
 * undefined if nothing changed or there is no such message.
 */
export async function followBlocks(
  tx: Tx,
  accountId: string,
  directKey: string,
): Promise<string | undefined> {
  const [changed] = await tx.query(WRITE_BLOCKED, accountId, directKey, await isPairBlocked(tx, directKey));
  return changed?.id;
}

/** Returns whether the team has blocked the customer. */
export async function isCustomerBlocked(tx: Tx, actorId: string): Promise<boolean> {
  const [row] = await tx.query(IS_CUSTOMER_BLOCKED, actorId);
  return row!.blocked;
}

/** Returns the conversations in which one of the two users has blocked the other. */
export async function readBlockedIds(db: Querier, ids: readonly string[]): Promise<ReadonlySet<string>> {
  return new Set((await db.query(READ_BLOCKED_IDS, ids)).map(({ id }) => id));
}

/** Returns one resource for each row that the caller may read, in the same order. */
export async function presentBlocks(db: Db, caller: Principal, rows: readonly BlockRow[]): Promise<Block[]> {
  const actors = await readActors(db, [...new Set(rows.map(({ actor_id }) => actor_id))]);
  const blockers = await readActors(
    db,
    [...new Set(rows.map(({ created_by }) => created_by))],
    acquainted(caller),
  );
  return rows.map(({ id, blocker_id, actor_id, created_by, created_at }) => ({
    id,
    object: 'block',
    scope: blocker_id === null ? 'account' : 'direct',
    actor: actors.get(actor_id)!,
    blocked_by: blockers.get(created_by) ?? null,
    created_at,
  }));
}

/** Returns SQL that finds a conversation of which both actors are members. */
function commonConversation(one: string, other: string): string {
  return `SELECT FROM participants o JOIN participants t ON t.conversation_id = o.conversation_id
        WHERE o.actor_id = ${one} AND o.${IS_MEMBER} AND t.actor_id = ${other} AND t.${IS_MEMBER}`;
}

/** The caller's own blocks, and the team's of customers that the caller may see. */
export const BLOCKS = keysetList<[accountId: string, actorId: string, seesWholeAccount: boolean], BlockRow>({
  name: 'list-blocks',
  columns: 'b.id, b.account_id, b.actor_id, b.blocker_id, b.created_by, b.created_at',
  from: 'blocks b',
  where: `b.account_id = $1 AND (b.blocker_id = $2
      OR (b.blocker_id IS NULL AND ($3::boolean OR EXISTS (${commonConversation('$2', 'b.actor_id')}))))`,
  key: [
    ['b.created_at', 'timestamptz'],
    ['b.id', 'text'],
  ],
});

const FIND_OWN = statement<[actorId: string, blockerId: string], BlockKey>('find-own-block')`
    SELECT actor_id, blocker_id FROM blocks WHERE actor_id = $1 AND blocker_id = $2`;

const READ_BLOCKS_OF = statement<[actorId: string, after: string, limit: number], BlockRow>(
  'read-blocks-of-person',
)`
    SELECT id, account_id, actor_id, blocker_id, created_by, created_at FROM blocks
    WHERE (blocker_id = $1 OR (actor_id = $1 AND blocker_id IS NULL)) AND id > $2 ORDER BY id LIMIT $3`;

const LOCK_PAIR = statement<[pair: string]>('lock-pair-of-users')`
    SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`;

const FIND_IN_PAIR = statement<[one: string, other: string]>('find-block-in-pair')`
    SELECT FROM blocks WHERE (blocker_id = $1 AND actor_id = $2) OR (blocker_id = $2 AND actor_id = $1) LIMIT 1`;

const WRITE_BLOCKED = statement<[accountId: string, directKey: string, isBlocked: boolean], { id: string }>(
  'write-blocked-direct-message',
)`
    UPDATE conversations SET is_blocked = $3, ${setTouched()}
    WHERE account_id = $1 AND direct_key = $2 AND is_blocked <> $3 RETURNING id`;

const IS_CUSTOMER_BLOCKED = statement<[actorId: string], { blocked: boolean }>('is-customer-blocked')`
    SELECT ${isBlockedByTeam('$1')} AS blocked`;

const READ_BLOCKED_IDS = statement<[ids: readonly string[]], { id: string }>('read-blocked-conversations')`
    SELECT id FROM conversations WHERE id = ANY($1) AND is_blocked`;

const RAISE_ROSTER_VERSIONS = statement<[ids: readonly string[]]>('raise-roster-versions')`
    UPDATE conversations SET roster_version = roster_version + 1 WHERE id = ANY($1)`;

const FIND_COMMON = statement<[one: string, other: string]>('find-common-conversation')`
    ${commonConversation('$1', '$2')} LIMIT 1`;
