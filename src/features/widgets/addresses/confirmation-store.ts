import { createHmac, hash } from 'node:crypto';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import { CODE_TRIES } from '@parley/protocol/resources/widget.ts';
import type { WidgetLanguage } from '@parley/protocol/resources/widget-languages.ts';
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

/** Marks the code as used, after which the link opens nothing either. */
export async function markEntered(tx: Tx, id: string): Promise<void> {
  await tx.query(MARK_ENTERED, id);
}

/**
 * Counts a try of a code, in a transaction of its own: a refusal must not undo it, and of two at
 * once each counts. Throws ApiError `invalid_credentials` for an unknown confirmation or one whose
 * code was used, `expired_token`, or `rate_limit_exceeded` once there were too many tries for the
 * mail, or for its address in a day.
 */
export async function countTry(db: Db, widgetId: string, id: string): Promise<void> {
  const [row] = await db.query(COUNT_TRY, id, widgetId, CODE_TRIES.mail, CODE_TRIES.address);
  if (row === undefined || row.is_used) throw wrongCode();
  if (row.wait_s === 0)
    throw new ApiError('expired_token', 'The code has expired. Ask for a new mail.', CODE);
  if (row.is_counted) return;
  const message = 'Too many codes were entered. Open the link of the mail, or ask for a new mail later.';
  throw new ApiError('rate_limit_exceeded', message, { retryAfterS: row.wait_s });
}

export function wrongCode(): ApiError {
  return new ApiError(
    'invalid_credentials',
    'This is not the code of the mail, or it was used before.',
    CODE,
  );
}

const CODE = { param: 'code' } as const;

/** Returns a confirmation by its id, locked until the transaction ends. */
export async function lockConfirmationOf(tx: Tx, id: string): Promise<ConfirmationRow | undefined> {
  const [row] = await tx.query(LOCK_BY_ID, id);
  return row;
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

const MARK_ENTERED = statement<[id: string]>('enter-code-of-confirmation')`
    UPDATE address_confirmations
    SET used_at = coalesce(used_at, clock_timestamp()), code_used_at = clock_timestamp() WHERE id = $1`;

const LOCK_BY_ID = statement<[id: string], ConfirmationRow>('lock-address-confirmation-by-id')`
    SELECT * FROM address_confirmations WHERE id = $1 FOR UPDATE`;

interface Counted {
  /** Whether the code was used. */
  readonly is_used: boolean;
  readonly is_counted: boolean;
  /** Seconds until the code expires. */
  readonly wait_s: number;
}

const COUNT_TRY = statement<[id: string, widgetId: string, ofMail: number, ofAddress: number], Counted>(
  'count-try-of-code',
)`
    WITH asked AS MATERIALIZED (
      SELECT id, address, tries, code_used_at IS NOT NULL AS is_used,
        greatest(ceil(extract(epoch FROM expires_at - clock_timestamp())), 0)::int AS wait_s
      FROM address_confirmations WHERE id = $1 AND widget_id = $2 FOR UPDATE
    ), counted AS (
      UPDATE address_confirmations c SET tries = c.tries + 1 FROM asked a
      WHERE c.id = a.id AND NOT a.is_used AND a.wait_s > 0 AND a.tries < $3 AND (
        SELECT sum(o.tries) FROM address_confirmations o
        WHERE lower(o.address) = lower(a.address) AND o.created_at > clock_timestamp() - interval '1 day') < $4
      RETURNING c.id
    )
    SELECT is_used, wait_s, EXISTS (SELECT FROM counted) AS is_counted FROM asked`;

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
