import { ApiError } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import { type Selectable, sql } from 'kysely';
import { newApiKey, OPERATOR_KEY_PREFIX } from '../../../api/access/api-keys.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';

/** Keys of operators, which only commands make (api/access/operator-keys.ts reads them). */

type OperatorKey = Omit<Selectable<Schema['operator_keys']>, 'hash'>;

/** Creates a key. `key` is the secret, which cannot be read again. */
export async function createOperatorKey(
  tx: Tx,
  { name, expiresAt = null }: { readonly name: string; readonly expiresAt?: string | null },
): Promise<OperatorKey & { readonly key: string }> {
  const { key, hash, redacted } = newApiKey(OPERATOR_KEY_PREFIX);
  const row = await tx.kysely
    .insertInto('operator_keys')
    .values({ id: newId('operatorKey'), name, hash, redacted, expires_at: expiresAt })
    .returning(COLUMNS)
    .executeTakeFirstOrThrow();
  return { ...row, key };
}

/** Returns the keys, newest first, including ended ones. */
export function listOperatorKeys(db: Db, limit: number): Promise<OperatorKey[]> {
  return db.kysely
    .selectFrom('operator_keys')
    .select(COLUMNS)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}

/** Ends a key for good; a repetition changes nothing. Throws `resource_not_found`. */
export function revokeOperatorKey(tx: Tx, id: string): Promise<OperatorKey> {
  return tx.kysely
    .updateTable('operator_keys')
    .set({ revoked_at: sql<string>`coalesce(revoked_at, clock_timestamp())` })
    .where('id', '=', id)
    .returning(COLUMNS)
    .executeTakeFirstOrThrow(
      () => new ApiError('resource_not_found', `There is no key ${id} of an operator.`, { param: 'id' }),
    );
}

const COLUMNS = ['id', 'name', 'redacted', 'expires_at', 'revoked_at', 'created_at'] as const;
