import { createECDH } from 'node:crypto';
import type { Static } from 'typebox';
import { ApiError, invalid } from '../../contract/protocol/errors.ts';
import { derivedId } from '../../contract/protocol/ids.ts';
import {
  type CreatePushSubscriptionBody,
  MAX_PUSH_SUBSCRIPTIONS,
  PushSubscription,
} from '../../contract/protocol/resources/push-subscription.ts';
import { presentAs } from '../../core/resources/present-as.ts';
import type { Principal } from '../../platform/access/principal.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import type { AddressGuard } from '../../platform/outbound/address-guard.ts';
import { readReceiverUrl } from '../../platform/outbound/address-guard.ts';
import { announceSubscriber } from './audience.ts';
import {
  lockAndCount,
  type NewSubscription,
  type SubscriptionRow,
  writeSubscription,
} from './subscription-store.ts';

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
  const used = await lockAndCount(tx, actor.id);
  const written = await writeSubscription(tx, subscription);
  if (written.isNew === 'endpoint' && used >= MAX_PUSH_SUBSCRIPTIONS) {
    const message = 'You have as many push subscriptions as you may have. Delete one first.';
    const quota = { limit: MAX_PUSH_SUBSCRIPTIONS, used, reset_at: null };
    throw new ApiError('limit_exceeded', message, { quota });
  }
  if (used === 0) await announceSubscriber(tx, accountId);
  return written;
}

export function presentSubscription(row: SubscriptionRow): PushSubscription {
  return presentAs(PushSubscription, row);
}

function newSubscription(
  actorId: string,
  { endpoint, expirationTime = null, keys }: Static<typeof CreatePushSubscriptionBody>,
  guard: AddressGuard,
): Omit<NewSubscription, 'account_id' | 'key_id'> {
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
    // Made of endpoint and keys, so that a browser that renews its keys gets another subscription.
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
