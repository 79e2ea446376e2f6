import { type Static, Type } from 'typebox';
import { Body, describe, Identity, Nullable, Times, Timestamp } from '../schema/schema.ts';

/** Push subscriptions that a user can have, one for each browser and device. */
export const MAX_PUSH_SUBSCRIPTIONS = 20;

/** A browser that gets a user's notifications while no page is open (docs/contract.md#web-push). */
export const PushSubscription = Type.Object({
  ...Identity('push_subscription'),
  endpoint: Type.String(),
  key_id: Type.String(),
  expires_at: Nullable(Timestamp),
  last_success_at: Nullable(Timestamp),
  failing_since: Nullable(Timestamp),
  ...Times,
});
export type PushSubscription = Static<typeof PushSubscription>;

describe(PushSubscription, {
  id: 'Opaque identifier. The same endpoint and keys of the same user always have the same one.',
  endpoint: 'The URL of the push service. Treat it as a secret.',
  key_id:
    'Id of the key with which the browser subscribed. The subscription ends when the server gets another key.',
  expires_at: 'When the browser will end the subscription. Null if it has not said so.',
  last_success_at: 'When the push service last accepted a notification. Null until then.',
  failing_since:
    'When the push service began to refuse, or could not be reached any more. Null while it accepts.',
  updated_at: 'When the browser last registered the subscription.',
});

/** The key with which a browser subscribes. */
export const PushKey = Type.Object({ ...Identity('push_key'), public_key: Type.String() });
export type PushKey = Static<typeof PushKey>;

describe(PushKey, {
  id: 'Identifier of the key. A page that finds another one than at its last visit subscribes again.',
  public_key: 'The `applicationServerKey` for `PushManager.subscribe()`, base64url.',
});

const Keys = Body({
  p256dh: Type.String({
    maxLength: 100,
    examples: ['BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4'],
  }),
  auth: Type.String({ maxLength: 100, examples: ['BTBZMqHH6r4Tts7J_aSIgg'] }),
});
describe(Keys, {
  p256dh: 'The public key of the browser: 65 bytes in base64url.',
  auth: 'The secret that the browser shares with this server: 16 bytes in base64url.',
});

/** `PushSubscription.toJSON()` of a browser, unchanged. */
export const CreatePushSubscriptionBody = Body({
  endpoint: Type.String({ maxLength: 2_000, examples: ['https://push.example.com/send/dGhlIGVuZHBvaW50'] }),
  expirationTime: Type.Optional(Nullable(Type.Number({ minimum: 0, maximum: 8.64e15 }))),
  keys: Keys,
});

describe(CreatePushSubscriptionBody, {
  endpoint: 'The URL that the push service has given the browser.',
  expirationTime:
    'When the browser will end the subscription, in milliseconds since 1970. Null in most browsers.',
  keys: 'The keys of the browser, with which only it can read what is pushed.',
});
