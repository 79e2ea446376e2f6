import { createECDH } from 'node:crypto';
import { ApiError, invalid, notFound } from '@parley/protocol/errors/errors.ts';
import { derivedId } from '@parley/protocol/ids.ts';
import {
  type CreatePushSubscriptionBody,
  MAX_PUSH_SUBSCRIPTIONS,
  PushSubscription,
} from '@parley/protocol/resources/push-subscription.ts';
import type { Insertable } from 'kysely';
import type { Static } from 'typebox';
import type { Principal } from '../../../api/access/principal.ts';
import { presentAs } from '../../../core/resources/present-as.ts';
import type { Db, Querier, Tx } from '../../../platform/db/connection/handle.ts';
import { keysetList } from '../../../platform/db/connection/keyset.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import type { AddressGuard } from '../../../platform/outbound/address-guard.ts';
import { readReceiverUrl } from '../../../platform/outbound/address-guard.ts';
import { announceSubscriber } from '../deliveries/audience.ts';

/**
 * Registers a browser of the caller (docs/contract.md#web-push). The same endpoint and keys are the
 * same subscription; other keys replace it. Throws ApiError `insufficient_permissions` (the caller
 * is no user), `invalid_format` or `validation_failed` (params endpoint, keys.p256dh, keys.auth,
 * expirationTime), or `limit_exceeded`.
 */
export async function subscribe(
  tx: Tx,
  { accountId, actor }: Principal,
  body: Static<typeof CreatePushSubscriptionBody>,
  { guard, keyId }: { readonly guard: AddressGuard; readonly keyId: string },
): ReturnType<typeof writeSubscription> {
  if (actor.type !== 'user') {
    throw new ApiError(
      'insufficient_permissions',
      'Only users have push subscriptions: use the token of a user.',
    );
  }
  const subscription = { ...newSubscription(actor.id, body, guard), account_id: accountId, key_id: keyId };
  // Locked, so that the quota holds for concurrent requests.
  await tx.kysely.selectFrom('actors').select('id').where('id', '=', actor.id).forNoKeyUpdate().execute();
  const used = (await tx.query(COUNT, actor.id))[0]!.count;
  const written = await writeSubscription(tx, subscription);
  if (written.isNew === 'endpoint' && used >= MAX_PUSH_SUBSCRIPTIONS) {
    const message = 'You have as many push subscriptions as you may have. Delete one first.';
    const quota = { limit: MAX_PUSH_SUBSCRIPTIONS, used, reset_at: null };
    throw new ApiError('limit_exceeded', message, { quota });
  }
  if (used === 0) await announceSubscriber(tx, 'push_subscriptions', accountId);
  return written;
}

export function presentSubscription(row: SubscriptionRow): PushSubscription {
  return presentAs(PushSubscription, row);
}

function newSubscription(
  actorId: string,
  { endpoint, expirationTime = null, keys }: Static<typeof CreatePushSubscriptionBody>,
  guard: AddressGuard,
): Omit<Insertable<Schema['push_subscriptions']>, 'account_id' | 'key_id'> {
  const { href, origin } = readReceiverUrl(endpoint, 'endpoint', guard);
  const p256dh = readKey(
    keys.p256dh,
    'keys.p256dh',
    isPoint,
    'a point of the curve P-256, 65 bytes in base64url',
  );
  const auth = readKey(keys.auth, 'keys.auth', ({ length }) => length === 16, '16 bytes in base64url');
  if (expirationTime !== null && expirationTime <= Date.now()) {
    throw invalid('expirationTime', 'The subscription has expired. Subscribe again first.');
  }
  return {
    // Derived from endpoint and keys, so that a browser with new keys gets another subscription.
    id: derivedId('pushSubscription', JSON.stringify([actorId, href, p256dh, auth])),
    actor_id: actorId,
    endpoint: href,
    origin,
    p256dh,
    auth,
    expires_at: expirationTime === null ? null : new Date(expirationTime).toISOString(),
  };
}

/** Returns the key in the form that browsers use. Some libraries pad it or use base64. */
function readKey(text: string, param: string, isKey: (bytes: Buffer) => boolean, what: string): string {
  const plain = text.replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_');
  const bytes = Buffer.from(plain, 'base64url');
  if (bytes.toString('base64url') === plain && isKey(bytes)) return plain;
  throw new ApiError('invalid_format', `Must be ${what}, as PushSubscription.toJSON() has it.`, { param });
}

function isPoint(bytes: Buffer): boolean {
  if (bytes.length !== 65) return false;
  const curve = createECDH('prime256v1');
  curve.generateKeys();
  try {
    curve.computeSecret(bytes);
    return true;
  } catch {
    return false;
  }
}

/** A subscription as its user sees it: without the keys of the browser. */
export type SubscriptionRow = Omit<PushSubscription, 'object'> & { readonly actor_id: string };

/**
 * Writes a subscription. If the user has the endpoint with other keys, that row becomes this one,
 * with its deliveries. Returns the row and whether it is new.
 */
async function writeSubscription(
  tx: Tx,
  subscription: Insertable<Schema['push_subscriptions']>,
): Promise<{ readonly row: SubscriptionRow; readonly isNew: 'endpoint' | 'keys' | false }> {
  const [again] = await tx.query(REGISTER_AGAIN, subscription.id, subscription.expires_at ?? null);
  if (again !== undefined) return { row: again, isNew: false };
  const [row] = await tx.query(WRITE, JSON.stringify(subscription));
  const { inserted, ...written } = row!;
  return { row: written, isNew: inserted ? 'endpoint' : 'keys' };
}

/** Returns the deleted subscription. Throws ApiError like `findSubscription`. */
export async function deleteSubscription(tx: Tx, actorId: string, id: string): Promise<SubscriptionRow> {
  const [row] = await tx.query(DELETE_OWN, actorId, id);
  if (row === undefined) throw notFound('push subscription', 'id');
  return row;
}

/** Deletes the subscriptions of the deactivated actors among these. */
export async function deleteOfDeactivated(db: Querier, actorIds: readonly string[]): Promise<void> {
  await db.query(DELETE_OF_DEACTIVATED, actorIds);
}

/**
 * Deletes up to `limit` subscriptions that have another key or have expired. Returns their number.
 */
export async function deleteStale(db: Querier, keyId: string, limit: number): Promise<number> {
  return (await db.query(DELETE_STALE, keyId, limit)).length;
}

/** Yields the subscriptions of a user for an export, without the keys of the browsers. */
export async function* readSubscriptionsOf(db: Db, actorId: string): AsyncIterable<object[]> {
  yield await db.query(READ_OF_ACTOR, actorId);
}

/** Throws ApiError `resource_not_found` (param id), also for subscriptions of other users. */
export async function findSubscription(db: Db, actorId: string, id: string): Promise<SubscriptionRow> {
  const [row] = await db.query(READ_OWN, actorId, id);
  if (row === undefined) throw notFound('push subscription', 'id');
  return row;
}

const COLUMNS = `s.id, s.actor_id, s.endpoint, s.key_id, s.expires_at, s.last_success_at, s.failing_since, s.created_at,
      s.updated_at`;

/** A user's own subscriptions, newest first. */
export const SUBSCRIPTIONS = keysetList<[actorId: string], SubscriptionRow>({
  name: 'list-push-subscriptions',
  columns: COLUMNS,
  from: 'push_subscriptions s',
  where: 's.actor_id = $1',
  key: [
    ['s.created_at', 'timestamptz'],
    ['s.id', 'text'],
  ],
});

const READ_OWN = statement<[actorId: string, id: string], SubscriptionRow>('read-push-subscription')`
    SELECT ${COLUMNS} FROM push_subscriptions s WHERE s.actor_id = $1 AND s.id = $2`;

const COUNT = statement<[actorId: string], { count: number }>('count-push-subscriptions')`
    SELECT count(*) AS count FROM push_subscriptions WHERE actor_id = $1`;

const REGISTER_AGAIN = statement<[id: string, expiresAt: string | null], SubscriptionRow>(
  'register-push-subscription-again',
)`
    UPDATE push_subscriptions s SET expires_at = $2, updated_at = later_than(s.updated_at)
    WHERE s.id = $1
    RETURNING ${COLUMNS}`;

// A row that was just inserted has not been locked or updated by any transaction.
const WRITE = statement<[subscription: string], SubscriptionRow & { inserted: boolean }>(
  'write-push-subscription',
)`
    INSERT INTO push_subscriptions AS s (id, account_id, actor_id, endpoint, origin, p256dh, auth, key_id,
      expires_at)
    SELECT * FROM json_to_record($1::json) AS n(id text, account_id text, actor_id text, endpoint text,
      origin text, p256dh text, auth text, key_id text, expires_at timestamptz)
    ON CONFLICT (actor_id, endpoint) DO UPDATE SET id = excluded.id, p256dh = excluded.p256dh, auth = excluded.auth,
      key_id = excluded.key_id, expires_at = excluded.expires_at, failures = 0, failing_since = NULL,
      last_success_at = NULL, updated_at = later_than(s.updated_at)
    RETURNING ${COLUMNS}, s.xmax = 0 AS inserted`;

const DELETE_OWN = statement<[actorId: string, id: string], SubscriptionRow>('delete-push-subscription')`
    DELETE FROM push_subscriptions s WHERE s.actor_id = $1 AND s.id = $2 RETURNING ${COLUMNS}`;

const DELETE_OF_DEACTIVATED = statement<[actorIds: readonly string[]]>(
  'delete-push-subscriptions-of-deactivated',
)`
    DELETE FROM push_subscriptions s USING actors a
    WHERE a.id = ANY($1) AND a.deactivated_at IS NOT NULL AND s.actor_id = a.id`;

const DELETE_STALE = statement<[keyId: string, limit: number]>('delete-stale-push-subscriptions')`
    DELETE FROM push_subscriptions WHERE id IN (
      SELECT id FROM push_subscriptions WHERE key_id <> $1 OR expires_at <= clock_timestamp() ORDER BY id LIMIT $2)
    RETURNING 1`;

const READ_OF_ACTOR = statement<[actorId: string], SubscriptionRow>('read-push-subscriptions-of-actor')`
    SELECT ${COLUMNS} FROM push_subscriptions s WHERE s.actor_id = $1 ORDER BY s.created_at, s.id`;
