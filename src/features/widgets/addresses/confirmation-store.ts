import { createHmac, hash } from 'node:crypto';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import type { WidgetLanguage } from '@parley/protocol/resources/widget.ts';
import type { Selectable } from 'kysely';
import { CONFIRMATION_DUE } from '../../../core/features/mails.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { enqueue } from '../../../platform/db/queue/outbox.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';

export type ConfirmationRow = Selectable<Schema['address_confirmations']>;

/** Most mails an hour for one visitor, to any addresses. */
const MAILS_OF_VISITOR = 3;

/** The name of the secret from which the tokens of links are made. */
export const CONFIRMATION_SECRET = 'address_confirmation_secret';

/** Returns the token of a link, which is not stored. */
export function tokenOf(secret: string, confirmationId: string): string {
  return createHmac('sha256', secret).update(confirmationId).digest('base64url');
}

interface NewConfirmation {
  readonly accountId: string;
  readonly widgetId: string;
  readonly visitorId: string;
  readonly address: string;
  readonly language: WidgetLanguage;
}

/**
 * Adds a confirmation, whose mail follows. Throws ApiError `rate_limit_exceeded` if the address got
 * one within the hour, from any account, or the visitor asked too often.
 */
export async function insertConfirmation(
  tx: Tx,
  secret: string,
  { accountId, widgetId, visitorId, address, language }: NewConfirmation,
): Promise<ConfirmationRow> {
  await tx.query(LOCK_ADDRESS, `confirmed ${address.toLowerCase()}`);
  const [{ wait_s }] = (await tx.query(READ_WAIT, address, visitorId, MAILS_OF_VISITOR)) as [Wait];
  if (wait_s !== null) {
    const retryAfterS = Math.max(1, wait_s);
    const message = `A mail was sent to this address within the hour, or you have asked for ${MAILS_OF_VISITOR}; try again in ${retryAfterS} s.`;
    throw new ApiError('rate_limit_exceeded', message, { retryAfterS });
  }
  const id = newId('addressConfirmation');
  const values = [
    id,
    accountId,
    widgetId,
    visitorId,
    hashOf(tokenOf(secret, id)),
    address,
    language,
  ] as const;
  const [row] = await tx.query(INSERT, ...values);
  await enqueue(tx, CONFIRMATION_DUE, { confirmation_id: id, account_id: accountId, address });
  return row!;
}

/** Returns the confirmation of a link and its state by Postgres' clock; undefined if unknown. */
export async function lockConfirmation(
  tx: Tx,
  widgetId: string,
  token: string,
): Promise<(ConfirmationRow & { readonly expired: boolean }) | undefined> {
  const [row] = await tx.query(LOCK, hashOf(token), widgetId);
  return row;
}

export async function markUsed(tx: Tx, id: string): Promise<void> {
  await tx.query(MARK_USED, id);
}

/** Returns a confirmation whose link was not opened yet. */
export async function findWaiting(
  db: Db,
  id: string,
): Promise<(ConfirmationRow & { readonly sites: readonly string[] }) | undefined> {
  const [row] = await db.query(FIND_WAITING, id);
  return row;
}

/** Deletes the confirmations of these addresses, in lower case. */
export async function forgetAddresses(
  db: Db,
  accountId: string,
  addresses: readonly string[],
): Promise<void> {
  await db.query(FORGET, accountId, addresses);
}

/** Deletes confirmations that are older than a day. */
export async function purgeConfirmations(db: Db): Promise<void> {
  await db.query(PURGE);
}

interface Wait {
  /** Seconds until the next mail; null if it may be sent now. */
  readonly wait_s: number | null;
}

function hashOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

const LOCK_ADDRESS = statement<[address: string]>('lock-confirmed-address')`
    SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`;

const READ_WAIT = statement<[address: string, visitorId: string, most: number], Wait>(
  'read-wait-of-confirmation',
)`
    SELECT ceil(extract(epoch FROM greatest(
      (SELECT max(created_at) FROM address_confirmations
        WHERE lower(address) = lower($1) AND created_at > clock_timestamp() - interval '1 hour'),
      (SELECT created_at FROM address_confirmations
        WHERE visitor_id = $2 AND created_at > clock_timestamp() - interval '1 hour'
        ORDER BY created_at DESC OFFSET $3 - 1 LIMIT 1)
    ) + interval '1 hour' - clock_timestamp()))::int AS wait_s`;

const INSERT = statement<
  [
    id: string,
    accountId: string,
    widgetId: string,
    visitorId: string,
    tokenHash: Buffer,
    address: string,
    language: WidgetLanguage,
  ],
  ConfirmationRow
>('insert-address-confirmation')`
    INSERT INTO address_confirmations
      (id, account_id, widget_id, visitor_id, token_hash, address, language, created_at, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp(), clock_timestamp() + interval '1 hour')
    RETURNING *`;

const LOCK = statement<
  [tokenHash: Buffer, widgetId: string],
  ConfirmationRow & { readonly expired: boolean }
>('lock-address-confirmation')`
    SELECT *, expires_at <= clock_timestamp() AS expired FROM address_confirmations
    WHERE token_hash = $1 AND widget_id = $2 FOR UPDATE`;

const MARK_USED = statement<[id: string]>('use-address-confirmation')`
    UPDATE address_confirmations SET used_at = clock_timestamp() WHERE id = $1`;

const FIND_WAITING = statement<[id: string], ConfirmationRow & { sites: string[] }>(
  'find-waiting-confirmation',
)`
    SELECT c.*, w.sites FROM address_confirmations c
      JOIN widgets w ON w.id = c.widget_id AND w.enabled
      JOIN visitors v ON v.id = c.visitor_id AND v.claimed_by IS NULL
    WHERE c.id = $1 AND c.used_at IS NULL AND c.expires_at > clock_timestamp()`;

const FORGET = statement<[accountId: string, addresses: readonly string[]]>('forget-confirmed-addresses')`
    DELETE FROM address_confirmations WHERE account_id = $1 AND lower(address) = ANY($2)`;

const PURGE = statement<[]>('purge-address-confirmations')`
    DELETE FROM address_confirmations WHERE expires_at < clock_timestamp() - interval '1 day'`;
