import { randomBytes } from 'node:crypto';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import type {
  CustomerCardSource,
  NewCustomerCardSource,
  SetCustomerCardSource,
} from '@parley/protocol/resources/customer-card.ts';
import { type Selectable, sql } from 'kysely';
import type { Principal } from '../../api/access/principal.ts';
import { lockAccount } from '../../core/accounts/account/accounts.ts';
import { auditAccount } from '../../core/audit/audit.ts';
import { shownSecret } from '../../core/events/receiver-signature.ts';
import type { Db, Tx } from '../../platform/db/connection/handle.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';

export type SourceRow = Selectable<Schema['customer_card_sources']>;

const SECRET_BYTES = 32;
/** Hours for which the previous secret still signs after a rotation. */
const PREVIOUS_SECRET_HOURS = 24;

/** Returns the source of the account's cards, or undefined if it has none. */
export function readSource(db: Db, accountId: string): Promise<SourceRow | undefined> {
  return db.kysely
    .selectFrom('customer_card_sources')
    .selectAll()
    .where('account_id', '=', accountId)
    .executeTakeFirst();
}

/**
 * Sets the source, or removes it with its secret; audits it. The first one gets a secret, which the
 * answer shows; another URL keeps it. No-op if nothing differs.
 */
export async function setSource(
  tx: Tx,
  principal: Principal,
  url: string | null,
): Promise<SetCustomerCardSource> {
  const { accountId } = principal;
  await lockAccount(tx, accountId);
  const before = await readSource(tx, accountId);
  if (url === (before?.url ?? null)) return { ...presentSource(before), secret: null };
  await auditAccount(tx, principal, 'customer_card_source.updated', { url });
  if (url === null) {
    await tx.kysely.deleteFrom('customer_card_sources').where('account_id', '=', accountId).execute();
    return { ...presentSource(undefined), secret: null };
  }
  if (before !== undefined) {
    return { ...presentSource(await update(tx, accountId, { url })), secret: null };
  }
  const row = await tx.kysely
    .insertInto('customer_card_sources')
    .values({ account_id: accountId, url, secret: randomBytes(SECRET_BYTES) })
    .returningAll()
    .executeTakeFirstOrThrow();
  return { ...presentSource(row), secret: shownSecret(row.secret) };
}

/** Replaces the secret; the previous one signs for some time. Throws `resource_conflict`. */
export async function rotateSourceSecret(tx: Tx, principal: Principal): Promise<NewCustomerCardSource> {
  const { accountId } = principal;
  await lockAccount(tx, accountId);
  const before = await readSource(tx, accountId);
  if (before === undefined) {
    throw new ApiError('resource_conflict', 'The account has no source of cards. Set its URL first.');
  }
  await auditAccount(tx, principal, 'customer_card_source.secret_rotated', {});
  const row = await update(tx, accountId, {
    secret: randomBytes(SECRET_BYTES),
    previous_secret: before.secret,
    previous_secret_until: sql<string>`clock_timestamp() + make_interval(hours => ${PREVIOUS_SECRET_HOURS})`,
  });
  return { ...presentSource(row), secret: shownSecret(row.secret) };
}

export function presentSource(row: SourceRow | undefined): CustomerCardSource {
  const until = row?.previous_secret_until ?? null;
  return {
    object: 'customer_card_source',
    url: row?.url ?? null,
    previous_secret_until: until !== null && Date.parse(until) > Date.now() ? until : null,
    updated_at: row?.updated_at ?? null,
  };
}

function update(tx: Tx, accountId: string, changes: object): Promise<SourceRow> {
  return tx.kysely
    .updateTable('customer_card_sources')
    .set({ ...changes, updated_at: sql<string>`later_than(updated_at)` })
    .where('account_id', '=', accountId)
    .returningAll()
    .executeTakeFirstOrThrow();
}
