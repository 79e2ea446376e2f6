import { type Static, Type } from 'typebox';
import { Body, describe, Identity, OneOf, Times } from '../schema/schema.ts';
import { Since } from '../schema/since.ts';

export const PLANS = ['free', 'pro'] as const;
export type Plan = (typeof PLANS)[number];

/** If inactive, all but the refresh of a token and GET /v1/account answer `payment_required`. */
export const SUBSCRIPTIONS = ['active', 'inactive'] as const;
export type AccountPlan = (typeof SUBSCRIPTIONS)[number];

/** What becomes of the metadata of pictures in messages (docs/contract.md#pictures). */
const PICTURE_METADATA = ['keep', 'remove'] as const;
export type PictureMetadata = (typeof PICTURE_METADATA)[number];

/** The readers of the own ids of actors (docs/contract.md#own-ids). */
const OWN_ID_READERS = ['team', 'keys'] as const;
export type OwnIdReaders = (typeof OWN_ID_READERS)[number];

/** The texts of pushes to phones (docs/contract.md#phones). */
const PUSH_CONTENTS = ['none', 'text'] as const;
export type PushContent = (typeof PUSH_CONTENTS)[number];

/** Which users a user knows (docs/contract.md#who-knows-whom). */
const PEOPLE = ['everyone', 'shared'] as const;
export type People = (typeof PEOPLE)[number];

/** The readers of the addresses of people (docs/contract.md#who-sees-addresses). */
const HANDLE_READERS = ['everyone', 'admins'] as const;
export type HandleReaders = (typeof HANDLE_READERS)[number];

/** The tenant that everything else belongs to (docs/contract.md#accounts). */
export const Account = Type.Object({
  ...Identity('account'),
  name: Type.String(),
  plan: OneOf(PLANS),
  subscription: OneOf(SUBSCRIPTIONS),
  picture_metadata: Since('1.4.harbor', OneOf(PICTURE_METADATA)),
  own_ids: Since('1.4.harbor', OneOf(OWN_ID_READERS)),
  push_content: Since('1.4.harbor', OneOf(PUSH_CONTENTS)),
  people: Since('1.4.harbor', OneOf(PEOPLE)),
  handles: Since('1.4.harbor', OneOf(HANDLE_READERS)),
  ...Times,
});
export type Account = Static<typeof Account>;

describe(Account, {
  name: 'Name of the account.',
  plan: 'The plan, which decides how many agents the account may have.',
  subscription: 'Where it is not `active`, other requests answer `payment_required`.',
  picture_metadata:
    'Whether pictures lose what they tell beside what they show, such as the place and the device, before a message has them (`remove`), or are kept as they were uploaded (`keep`).',
  own_ids:
    'Whether everybody of the team sees the `external_id` of actors (`team`), or API keys alone (`keys`). Accounts from before the setting have `keys`, new ones `team`.',
  push_content:
    'The texts of pushes to phones, which Google and Apple can read: `none` has who wrote and how many notifications wait, `text` what they say as well.',
  people:
    'Which users of the account a user sees: `everyone`, or those it shares a conversation with (`shared`). Everybody sees agents; admins, users with a permission for users, and API keys see everyone.',
  handles:
    'Who sees the email addresses of people, in `handle`: `everyone`, or `admins`, users with a permission for users, and API keys alone (`admins`). Everybody sees the own one.',
});

/** Body of Update Account: absent fields stay. */
export const UpdateAccountBody = Body({
  picture_metadata: Type.Optional(OneOf(PICTURE_METADATA)),
  own_ids: Type.Optional(OneOf(OWN_ID_READERS)),
  push_content: Type.Optional(OneOf(PUSH_CONTENTS)),
  people: Type.Optional(OneOf(PEOPLE)),
  handles: Type.Optional(OneOf(HANDLE_READERS)),
});
describe(UpdateAccountBody, {
  picture_metadata:
    'Whether pictures of new messages lose what they tell beside what they show, such as the place and the device: `remove` or `keep`.',
  own_ids:
    'Who sees the `external_id` of actors: everybody of the `team`, or API `keys` alone. Customers see their own.',
  push_content:
    'What pushes to phones say: `none` has who wrote and how many notifications wait, `text` what they say as well.',
  people:
    'Which users of the account a user sees: `everyone`, or those it shares a conversation with (`shared`).',
  handles:
    'Who sees the email addresses of people: `everyone`, or admins, users with a permission for users, and API keys alone (`admins`).',
});
export type UpdateAccountBody = Static<typeof UpdateAccountBody>;
