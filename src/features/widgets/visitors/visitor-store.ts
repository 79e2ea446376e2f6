import type { Selectable } from 'kysely';
import { createCustomer } from '../../../core/accounts/actors/actors.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';

export type VisitorRow = Selectable<Schema['visitors']>;

/** Creates the customer of an anonymous visitor. Returns its actor id. */
export async function insertVisitor(
  tx: Tx,
  { accountId, widgetId }: { readonly accountId: string; readonly widgetId: string },
): Promise<string> {
  const { id } = await createCustomer(tx, { accountId, name: 'Visitor' });
  // Distinguishes the visitors for the team.
  await tx.kysely
    .updateTable('actors')
    .set({ name: `Visitor ${id.slice(-5)}` })
    .where('id', '=', id)
    .execute();
  await tx.kysely.insertInto('visitors').values({ id, account_id: accountId, widget_id: widgetId }).execute();
  return id;
}

/** Returns a visitor, locked until the transaction ends; undefined for other actors. */
export async function lockVisitor(tx: Tx, accountId: string, id: string): Promise<VisitorRow | undefined> {
  const [row] = await tx.query(LOCK, accountId, id);
  return row;
}

/**
 * Returns the account's oldest active customer with an address, except visitors, who never had one.
 */
export async function findCustomerOf(
  tx: Tx,
  accountId: string,
  address: string,
): Promise<string | undefined> {
  const [found] = await tx.query(FIND_CUSTOMER, accountId, address);
  return found?.id;
}

/** Returns whether a customer can still act. */
export async function isActiveCustomer(tx: Tx, id: string): Promise<boolean> {
  return (await tx.query(FIND_ACTIVE, id)).length > 0;
}

export async function markClaimed(
  tx: Tx,
  id: string,
  customerId: string,
  conversationIds: readonly string[],
): Promise<VisitorRow> {
  const [row] = await tx.query(MARK_CLAIMED, id, customerId, conversationIds);
  return row!;
}

/** Returns the ids of recently claimed visitors, for writes that were under way. */
export async function readClaimed(db: Db): Promise<string[]> {
  return (await db.query(READ_CLAIMED)).map(({ id }) => id);
}

/**
 * Removes the actor of a claimed visitor. It stays, deactivated, if it participated in a
 * conversation together with its customer.
 */
export async function deleteActor(tx: Tx, id: string): Promise<void> {
  await tx.kysely.deleteFrom('refresh_tokens').where('actor_id', '=', id).execute();
  await tx.kysely.deleteFrom('tickets').where('actor_id', '=', id).execute();
  await tx.query(DELETE_ACTOR, id);
}

/**
 * Removes visitors whose session ended a day ago and that have opened no case, after their uploads.
 */
export async function purgeSilent(database: Database): Promise<void> {
  for (let removed = SILENT_AT_ONCE; removed === SILENT_AT_ONCE; ) {
    removed = await database.transaction((tx) => deleteSilent(tx, SILENT_AT_ONCE));
  }
}

const SILENT_AT_ONCE = 500;

async function deleteSilent(tx: Tx, limit: number): Promise<number> {
  const found = await tx.query(FIND_SILENT, limit);
  const ids = found.map(({ id }) => id);
  if (ids.length > 0) {
    await tx.query(DELETE_TOKENS_OF, ids);
    await tx.query(DELETE_SILENT_ACTORS, ids);
    await tx.query(DELETE_SILENT, ids);
  }
  return ids.length;
}

const LOCK = statement<[accountId: string, id: string], VisitorRow>('lock-visitor')`
    SELECT * FROM visitors WHERE account_id = $1 AND id = $2 FOR UPDATE`;

const FIND_CUSTOMER = statement<[accountId: string, address: string], { id: string }>(
  'find-customer-of-visitor',
)`
    SELECT a.id FROM actors a
    WHERE a.account_id = $1 AND a.customer AND lower(a.handle) = lower($2) AND a.deactivated_at IS NULL
      AND NOT EXISTS (SELECT FROM visitors v WHERE v.id = a.id)
    ORDER BY a.created_at, a.id LIMIT 1`;

const FIND_ACTIVE = statement<[id: string]>('find-active-customer-of-visitor')`
    SELECT FROM actors WHERE id = $1 AND customer AND deactivated_at IS NULL`;

const MARK_CLAIMED = statement<
  [id: string, customerId: string, conversationIds: readonly string[]],
  VisitorRow
>('mark-visitor-claimed')`
    UPDATE visitors SET claimed_by = $2, claimed_at = clock_timestamp(), conversation_ids = $3
    WHERE id = $1 RETURNING *`;

const READ_CLAIMED = statement<[], { id: string }>('read-claimed-visitors')`
    SELECT id FROM visitors
    WHERE claimed_at > clock_timestamp() - interval '3 hours' AND claimed_by <> id ORDER BY id LIMIT 1000`;

const DELETE_ACTOR = statement<[id: string]>('delete-actor-of-visitor')`
    DELETE FROM actors a WHERE a.id = $1 AND NOT EXISTS (SELECT FROM participants p WHERE p.actor_id = a.id)`;

const FIND_SILENT = statement<[limit: number], { id: string }>('find-silent-visitors')`
    SELECT v.id FROM visitors v JOIN actors a ON a.id = v.id
    WHERE v.claimed_by IS NULL AND v.created_at < clock_timestamp() - interval '1 day'
      AND a.external_id IS NULL AND a.handle IS NULL AND a.metadata IS NULL
      AND NOT EXISTS (SELECT FROM participants p WHERE p.actor_id = v.id)
      AND NOT EXISTS (SELECT FROM refresh_tokens t WHERE t.actor_id = v.id AND t.revoked_at IS NULL
        AND t.expires_at > clock_timestamp() - interval '1 day')
      AND NOT EXISTS (SELECT FROM tickets k WHERE k.actor_id = v.id)
      AND NOT EXISTS (SELECT FROM uploads u WHERE u.actor_id = v.id)
    ORDER BY v.id LIMIT $1 FOR UPDATE OF a SKIP LOCKED`;

const DELETE_TOKENS_OF = statement<[ids: readonly string[]]>('delete-tokens-of-visitors')`
    DELETE FROM refresh_tokens WHERE actor_id = ANY($1)`;

const DELETE_SILENT_ACTORS = statement<[ids: readonly string[]]>('delete-actors-of-silent-visitors')`
    DELETE FROM actors WHERE id = ANY($1)`;

const DELETE_SILENT = statement<[ids: readonly string[]]>('delete-silent-visitors')`
    DELETE FROM visitors WHERE id = ANY($1)`;
