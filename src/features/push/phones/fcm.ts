import type { Verdict } from '../deliveries/channel.ts';
import { fitted } from '../deliveries/fitted.ts';
import { PUSHED_FOR_MS } from '../deliveries/times.ts';
import type { FcmCredential } from './credential.ts';
import {
  collapseKeyOf,
  dataOf,
  MAX_PUSH_BYTES,
  type PhonePush,
  type PhoneRequest,
  type PhoneTexts,
  textsOf,
} from './phone-push.ts';

export const FCM_URL = 'https://fcm.googleapis.com';
export const GOOGLE_TOKEN_URL = 'https://oauth2.googleapis.com/token';

const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';
const ASSERTION = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** Returns the request that trades a signed assertion for an access token (RFC 7523). */
export async function fcmTokenRequest({ email, keyId, key }: FcmCredential, url: URL): Promise<PhoneRequest> {
  const { importPKCS8, SignJWT } = await import('jose');
  const assertion = await new SignJWT({ scope: SCOPE })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(keyId !== null && { kid: keyId }) })
    .setIssuer(email)
    .setAudience(GOOGLE_TOKEN_URL)
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(await importPKCS8(key, 'RS256'));
  return {
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ grant_type: ASSERTION, assertion }).toString(),
  };
}

/** Returns the request for one push (FCM, HTTP v1). */
export function fcmRequest(row: PhonePush, { project }: FcmCredential, token: string): PhoneRequest {
  return {
    url: new URL(`/v1/projects/${encodeURIComponent(project)}/messages:send`, row.origin),
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: bodyOf(row),
  };
}

function bodyOf(row: PhonePush): Buffer {
  if (row.removed_ids !== null) return encode(row, null);
  return fitted(textsOf(row), (texts) => encode(row, texts), MAX_PUSH_BYTES);
}

/** Phones of Apple get it through FCM too, with the part `apns`. */
function encode(row: PhonePush, texts: PhoneTexts | null): Buffer {
  const key = collapseKeyOf(row);
  const isUrgent = texts !== null && row.priority !== 'low';
  const alert = texts !== null && {
    title: texts.title,
    ...(texts.body !== null && { body: texts.body }),
  };
  const message = {
    token: row.token,
    data: dataOf(row),
    ...(alert && { notification: alert }),
    android: {
      priority: isUrgent ? 'HIGH' : 'NORMAL',
      ttl: `${PUSHED_FOR_MS / 1_000}s`,
      ...(alert && { collapse_key: key, notification: { tag: key, notification_count: row.unread } }),
    },
    apns: {
      headers: {
        'apns-push-type': alert ? 'alert' : 'background',
        'apns-priority': isUrgent ? '10' : '5',
        ...(alert && { 'apns-collapse-id': key }),
      },
      payload: {
        aps: alert
          ? {
              badge: row.unread,
              sound: 'default',
              'thread-id': row.conversation_id ?? row.category,
              'mutable-content': 1,
            }
          : { 'content-available': 1, badge: row.unread },
      },
    },
  };
  return Buffer.from(JSON.stringify({ message }));
}

/** Returns what an answer of FCM means. Its `errorCode` says more than the status. */
export function fcmVerdict({ status, text }: { readonly status: number; readonly text: string }): Verdict {
  if (status >= 200 && status < 300) return 'accepted';
  if (status === 404 || status === 410 || /"UNREGISTERED"/.test(text)) return 'gone';
  if (status === 429) return 'busy';
  // The token is one of another project: no other credential will be tried with it.
  if (/"SENDER_ID_MISMATCH"/.test(text)) return 'refused';
  if (status === 401 || status === 403) return 'unauthorized';
  return status >= 500 || status === 408 ? 'failed' : 'refused';
}
