import type { Selectable } from 'kysely';
import { newId } from '../../contract/protocol/ids.ts';
import type { Block } from '../../contract/protocol/resources/block.ts';
import type { Db, Querier, Tx } from '../../platform/db/connection/handle.ts';
import { type KeysetPage, keysetList } from '../../platform/db/connection/keyset.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';
import { setTouched } from '../../platform/db/tables/touched.ts';
import { isBlockedByTeam, readActors } from '../resources/actor.ts';
import { IS_MEMBER } from '../resources/participant.ts';

export type BlockRow = Selectable<Schema['blocks']>;

/** Which block. `blockerId` is null for the team. */
export interface BlockKey {
  readonly actorId: string;
  readonly blockerId: string | null;
}

/** Returns undefined if the block is there already. */
export function insertBlock(
  tx: Tx,
  { actorId, blockerId, accountId, createdBy }: BlockKey & { accountId: string; createdBy: string },
): Promise<BlockRow | undefined> {
  return tx.kysely
    .insertInto('blocks')
    .values({
      id: newId('block'),
      account_id: accountId,
      actor_id: actorId,
      blocker_id: blockerId,
      created_by: createdBy,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
}

/** Returns a block, which exists. */
export function readBlock(tx: Tx, { actorId, blockerId }: BlockKey): Promise<BlockRow> {
  return tx.kysely
    .selectFrom('blocks')
    .selectAll()
    .where('actor_id', '=', actorId)
    .where('blocker_id', blockerId === null ? 'is' : '=', blockerId)
    .executeTakeFirstOrThrow();
}

/** Returns the block that it deleted; undefined if there was none. */
export function deleteBlock(tx: Tx, { actorId, blockerId }: BlockKey): Promise<BlockRow | undefined> {
  return tx.kysely
    .deleteFrom('blocks')
    .where('actor_id', '=', actorId)
    .where('blocker_id', blockerId === null ? 'is' : '=', blockerId)
    .returningAll()
    .executeTakeFirst();
}

/** Removes what a person has blocked, and that the person is blocked, for its erasure. */
export async function deleteBlocksOf(tx: Tx, actorId: string): Promise<void> {
  await tx.kysely
    .deleteFrom('blocks')
    .where((eb) => eb.or([eb('actor_id', '=', actorId), eb('blocker_id', '=', actorId)]))
    .execute();
}

/**
 * Yields what a person has blocked, and the team's block of it. Other users' blocks of it are
 * theirs.
 */
export async function* readBlocksOf(db: Db, actorId: string): AsyncIterable<BlockRow[]> {
  for (let after = ''; ; ) {
    const rows = await db.query(READ_BLOCKS_OF, actorId, after, BLOCKS_AT_ONCE);
    if (rows.length > 0) yield rows;
    if (rows.length < BLOCKS_AT_ONCE) return;
    after = rows.at(-1)!.id;
  }
}

const BLOCKS_AT_ONCE = 500;

/**
 * Holds a lock on the two users until the transaction ends: one of them blocks the other, or begins
 * a direct message.
 */
export async function lockPair(tx: Tx, accountId: string, directKey: string): Promise<void> {
  await tx.query(LOCK_PAIR, `blocks ${accountId} ${directKey}`);
}

/** Returns whether one of the two has blocked the other. */
export async function isPairBlocked(tx: Tx, directKey: string): Promise<boolean> {
  const [one, other] = directKey.split(' ');
  return (await tx.query(FIND_IN_PAIR, one!, other!)).length > 0;
}

/**
 * Opens or closes the direct message of two users, who are locked, as their blocks say. Returns its
 * id if it changed; undefined if it did not, or there is none.
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

/** Returns those of the conversations in which one of the two users has blocked the other. */
export async function readBlockedIds(db: Querier, ids: readonly string[]): Promise<ReadonlySet<string>> {
  return new Set((await db.query(READ_BLOCKED_IDS, ids)).map(({ id }) => id));
}

/**
 * Raises the versions of the rosters of locked conversations: nodes read again which of their
 * members may write.
 */
export async function raiseRosterVersions(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.query(RAISE_ROSTER_VERSIONS, ids);
}

/** Returns whether the actors are members of one conversation. */
export async function haveCommonConversation(tx: Tx, one: string, other: string): Promise<boolean> {
  return (await tx.query(FIND_COMMON, one, other)).length > 0;
}

/** The reader of a list of blocks. */
export interface BlockReader {
  readonly accountId: string;
  readonly actorId: string;
  readonly seesWholeAccount: boolean;
}

/**
 * Returns what the actor has blocked, and the customers that the team has, as far as the actor may
 * see them.
 */
export function readBlocks(
  db: Db,
  { accountId, actorId, seesWholeAccount }: BlockReader,
  page: KeysetPage,
): Promise<BlockRow[]> {
  return BLOCKS.readPage(db, [accountId, actorId, seesWholeAccount], page);
}

/** Returns the resource of each row, in their order. */
export async function presentBlocks(db: Db, rows: readonly BlockRow[]): Promise<Block[]> {
  const actors = await readActors(db, [
    ...new Set(rows.flatMap(({ actor_id, created_by }) => [actor_id, created_by])),
  ]);
  return rows.map(({ id, blocker_id, actor_id, created_by, created_at }) => ({
    id,
    object: 'block',
    scope: blocker_id === null ? 'account' : 'direct',
    actor: actors.get(actor_id)!,
    blocked_by: actors.get(created_by) ?? null,
    created_at,
  }));
}

/** SQL: a conversation that both actors are members of. */
function commonConversation(one: string, other: string): string {
  return `SELECT FROM participants o JOIN participants t ON t.conversation_id = o.conversation_id
        WHERE o.actor_id = ${one} AND o.${IS_MEMBER} AND t.actor_id = ${other} AND t.${IS_MEMBER}`;
}

const BLOCKS = keysetList<[accountId: string, actorId: string, seesWholeAccount: boolean], BlockRow>({
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

const READ_BLOCKS_OF = statement<[actorId: string, after: string, limit: number], BlockRow>({
  name: 'read-blocks-of-person',
  text: `
    SELECT id, account_id, actor_id, blocker_id, created_by, created_at FROM blocks
    WHERE (blocker_id = $1 OR (actor_id = $1 AND blocker_id IS NULL)) AND id > $2 ORDER BY id LIMIT $3`,
});

const LOCK_PAIR = statement<[pair: string]>({
  name: 'lock-pair-of-users',
  text: 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))',
});

const FIND_IN_PAIR = statement<[one: string, other: string]>({
  name: 'find-block-in-pair',
  text: `
    SELECT FROM blocks WHERE (blocker_id = $1 AND actor_id = $2) OR (blocker_id = $2 AND actor_id = $1) LIMIT 1`,
});

const WRITE_BLOCKED = statement<[accountId: string, directKey: string, isBlocked: boolean], { id: string }>({
  name: 'write-blocked-direct-message',
  text: `
    UPDATE conversations SET is_blocked = $3, ${setTouched()}
    WHERE account_id = $1 AND direct_key = $2 AND is_blocked <> $3 RETURNING id`,
});

const IS_CUSTOMER_BLOCKED = statement<[actorId: string], { blocked: boolean }>({
  name: 'is-customer-blocked',
  text: `SELECT ${isBlockedByTeam('$1')} AS blocked`,
});

const READ_BLOCKED_IDS = statement<[ids: readonly string[]], { id: string }>({
  name: 'read-blocked-conversations',
  text: 'SELECT id FROM conversations WHERE id = ANY($1) AND is_blocked',
});

const RAISE_ROSTER_VERSIONS = statement<[ids: readonly string[]]>({
  name: 'raise-roster-versions',
  text: 'UPDATE conversations SET roster_version = roster_version + 1 WHERE id = ANY($1)',
});

const FIND_COMMON = statement<[one: string, other: string]>({
  name: 'find-common-conversation',
  text: `${commonConversation('$1', '$2')} LIMIT 1`,
});
