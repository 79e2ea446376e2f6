import { type Static, Type } from 'typebox';
import {
  Body,
  demand,
  describe,
  Identity,
  Name,
  Nullable,
  OneOf,
  Times,
  Timestamp,
  where,
} from '../schema/schema.ts';

/**
 * Services that push to phones: Firebase Cloud Messaging and the Apple Push Notification service.
 */
export const PUSH_PLATFORMS = ['fcm', 'apns'] as const;
export type PushPlatform = (typeof PUSH_PLATFORMS)[number];

const APNS_ENVIRONMENTS = ['production', 'sandbox'] as const;
export type ApnsEnvironment = (typeof APNS_ENVIRONMENTS)[number];

/** Push apps that an account can have. */
export const MAX_PUSH_APPS = 20;

/** Longest text of `last_error`. */
export const PUSH_ERROR_CHARACTERS = 500;

/** An app of the account on phones, with the credential to push to it (docs/contract.md#phones). */
export const PushApp = Type.Object({
  ...Identity('push_app'),
  name: Type.String(),
  platform: OneOf(PUSH_PLATFORMS),
  identifier: Type.String(),
  environment: Nullable(OneOf(APNS_ENVIRONMENTS)),
  team_id: Nullable(Type.String()),
  key_id: Nullable(Type.String()),
  last_success_at: Nullable(Timestamp),
  failing_since: Nullable(Timestamp),
  last_error: Nullable(Type.String({ maxLength: PUSH_ERROR_CHARACTERS })),
  created_by: Type.String(),
  ...Times,
});
export type PushApp = Static<typeof PushApp>;

const ENVIRONMENT_TEXT =
  'Which of the services of Apple knows the tokens of the app: `production`, or `sandbox` for builds of developers. Null for `fcm`.';

describe(PushApp, {
  name: 'Name of the app, for people.',
  platform: 'The service that reaches the phones: `fcm` (Firebase Cloud Messaging) or `apns` (Apple).',
  identifier: 'The id of the Firebase project, or the topic of Apple, which is the bundle id of the app.',
  environment: ENVIRONMENT_TEXT,
  team_id: 'The id of the team at Apple. Null for `fcm`.',
  key_id: 'The id of the key, which itself is never shown. Null where the credential has none.',
  last_success_at: 'When the service last took the credential. Null until then.',
  failing_since: 'When the service began to refuse the credential. Null while it takes it.',
  last_error: 'Why the credential was refused last. Null while the service takes it.',
  created_by: 'Id of the actor that made it.',
});

const Pem = Type.String({ minLength: 1, maxLength: 10_000, examples: ['-----BEGIN PRIVATE KEY-----\n…'] });

const ServiceAccount = Type.Object(
  {
    project_id: Type.String({
      pattern: '^[a-z0-9][a-z0-9.:-]{0,99}$',
      sentence: 'Must be the id of a project of Google.',
    }),
    client_email: Type.String({ minLength: 3, maxLength: 320 }),
    private_key: Pem,
    private_key_id: Type.Optional(Type.String({ maxLength: 200 })),
  },
  { additionalProperties: true },
);
describe(ServiceAccount, {
  project_id: 'The id of the Firebase project.',
  client_email: 'The name of the service account.',
  private_key: 'The RSA key of the service account, as PEM.',
  private_key_id: 'The id of that key.',
});

/** Ten characters, as Apple gives them. */
const AppleId = Type.String({
  pattern: '^[A-Z0-9]{10}$',
  sentence: 'Must be ten capital letters and digits.',
});
const Topic = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9.-]{0,154}$',
  sentence: 'Must be a bundle id such as com.example.chat.',
});

const CREDENTIAL = {
  service_account: Type.Optional(ServiceAccount),
  team_id: Type.Optional(AppleId),
  key_id: Type.Optional(AppleId),
  private_key: Type.Optional(Pem),
};
const CREDENTIAL_TEXTS = {
  service_account:
    'With `fcm`: the JSON of a key of a service account that may send messages, as Google gives it.',
  team_id: 'With `apns`: the id of the team.',
  key_id: 'With `apns`: the id of the key.',
  private_key: 'With `apns`: the key for push notifications, the text of the file `.p8`.',
};

export const CreatePushAppBody = Body(
  {
    name: Name,
    platform: OneOf(PUSH_PLATFORMS),
    topic: Type.Optional(Topic),
    environment: Type.Optional(OneOf(APNS_ENVIRONMENTS)),
    ...CREDENTIAL,
  },
  {
    examples: [
      {
        name: 'Example Chat',
        platform: 'apns',
        topic: 'com.example.chat',
        team_id: 'A1B2C3D4E5',
        key_id: 'F6G7H8I9J0',
        private_key: '-----BEGIN PRIVATE KEY-----\n…',
      },
    ],
  },
);
export type CreatePushAppBody = Static<typeof CreatePushAppBody>;
describe(CreatePushAppBody, {
  name: 'Name of the app, for people.',
  platform: 'The service that reaches the phones: `fcm` or `apns`.',
  topic: 'With `apns`: the bundle id of the app.',
  environment: 'With `apns`: `production` (the default), or `sandbox` for builds of developers.',
  ...CREDENTIAL_TEXTS,
});
demand(CreatePushAppBody, [
  where('platform', 'fcm', 'service_account'),
  where('platform', 'apns', 'topic', 'team_id', 'key_id', 'private_key'),
]);

export const UpdatePushAppBody = Body(
  { name: Type.Optional(Name), ...CREDENTIAL },
  { minProperties: 1, examples: [{ name: 'Example Chat' }] },
);
export type UpdatePushAppBody = Static<typeof UpdatePushAppBody>;
describe(UpdatePushAppBody, {
  name: 'The new name.',
  service_account: 'With `fcm`: the new key, of the same project.',
  team_id: 'With `apns`: the id of the team. Default: as it was.',
  key_id: 'With `apns`: the id of the new key; goes with `private_key`.',
  private_key: 'With `apns`: the new key; goes with `key_id`.',
});
