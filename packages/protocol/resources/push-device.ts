import { type Static, Type } from 'typebox';
import { Body, describe, Id, Identity, Nullable, OneOf, Times, Timestamp } from '../schema/schema.ts';
import { PUSH_PLATFORMS } from './push-app.ts';

/** Phones that a user can have. */
export const MAX_PUSH_DEVICES = 20;

/** A phone that gets a user's notifications (docs/contract.md#phones). */
export const PushDevice = Type.Object({
  ...Identity('push_device'),
  app_id: Type.String(),
  platform: OneOf(PUSH_PLATFORMS),
  session_id: Nullable(Type.String()),
  last_success_at: Nullable(Timestamp),
  failing_since: Nullable(Timestamp),
  ...Times,
});
export type PushDevice = Static<typeof PushDevice>;

describe(PushDevice, {
  id: 'Opaque identifier. The same token of the same user always has the same one.',
  app_id: 'Id of the push app.',
  platform: 'The service that reaches the phone: `fcm` or `apns`.',
  session_id:
    'Id of the session that registered it, with which it ends. Null where the token of the caller has no session.',
  last_success_at: 'When the service last accepted a notification. Null until then.',
  failing_since: 'When the service began to refuse this phone. Null while it accepts.',
  updated_at: 'When the app last registered the phone.',
});

export const CreatePushDeviceBody = Body({
  app_id: Id,
  token: Type.String({
    minLength: 1,
    maxLength: 4_096,
    pattern: '^[\\x21-\\x7e]+$',
    examples: ['740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad'],
    sentence: 'Must be the token as the phone has it, without spaces.',
  }),
});
export type CreatePushDeviceBody = Static<typeof CreatePushDeviceBody>;

describe(CreatePushDeviceBody, {
  app_id: 'Id of the push app that the phone runs.',
  token: 'The token that the phone got from its service: hexadecimal digits from Apple, any text from FCM.',
});
