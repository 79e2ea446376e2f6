import type { Verdict } from '../deliveries/channel.ts';
import { fitted } from '../deliveries/fitted.ts';
import { PUSHED_FOR_MS } from '../deliveries/times.ts';
import type { ApnsCredential } from './credential.ts';
import {
  collapseKeyOf,
  dataOf,
  MAX_PUSH_BYTES,
  type PhonePush,
  type PhoneRequest,
  textsOf,
} from './phone-push.ts';

/** The hosts of Apple, by environment. */
export const APNS_URLS = {
  production: 'https://api.push.apple.com',
  sandbox: 'https://api.sandbox.push.apple.com',
} as const;

/** Milliseconds for which a token of a provider is used. Apple takes 20 to 60 minutes. */
export const APNS_TOKEN_MS = 40 * 60_000;

/** Returns the token that proves who pushes (ES256). */
export async function apnsToken({ teamId, keyId, key }: ApnsCredential): Promise<string> {
  const { importPKCS8, SignJWT } = await import('jose');
  return new SignJWT({ iss: teamId })
    .setProtectedHeader({ alg: 'ES256', kid: keyId })
    .setIssuedAt()
    .sign(await importPKCS8(key, 'ES256'));
}

/** Returns the request for one push over HTTP/2. */
export function apnsRequest(row: PhonePush, { topic }: ApnsCredential, token: string): PhoneRequest {
  const isRemoval = row.removed_ids !== null;
  return {
    url: new URL(`/3/device/${row.token}`, row.origin),
    version: 'HTTP/2',
    headers: {
      authorization: `bearer ${token}`,
      'apns-topic': topic,
      'apns-push-type': isRemoval ? 'background' : 'alert',
      // A push in the background must have 5 (Apple, "Sending notification requests to APNs").
      'apns-priority': isRemoval || row.priority === 'low' ? '5' : '10',
      'apns-expiration': String(Math.floor((Date.now() + PUSHED_FOR_MS) / 1_000)),
      ...(!isRemoval && { 'apns-collapse-id': collapseKeyOf(row) }),
      'content-type': 'application/json',
    },
    body: bodyOf(row),
  };
}

function bodyOf(row: PhonePush): Buffer {
  const data = dataOf(row);
  if (row.removed_ids !== null) {
    return Buffer.from(JSON.stringify({ aps: { 'content-available': 1, badge: row.unread }, ...data }));
  }
  const encode = ({ title, body }: ReturnType<typeof textsOf>) => {
    const alert = body === null ? { title } : { title, body };
    const aps = {
      alert,
      badge: row.unread,
      sound: 'default',
      'thread-id': row.conversation_id ?? row.category,
      'mutable-content': 1,
    };
    return Buffer.from(JSON.stringify({ aps, ...data }));
  };
  return fitted(textsOf(row), encode, MAX_PUSH_BYTES);
}

/** Returns what an answer of Apple means. */
export function apnsVerdict({ status, text }: { readonly status: number; readonly text: string }): Verdict {
  if (status === 200) return 'accepted';
  if (status === 404 || status === 410 || /"Unregistered"/.test(text)) return 'gone';
  if (status === 429) return 'busy';
  // 403 is about the token of the provider, and these are about the topic that its key is for.
  if (status === 403 || status === 401 || /"(TopicDisallowed|MissingProviderToken)"/.test(text))
    return 'unauthorized';
  return status >= 500 ? 'failed' : 'refused';
}
