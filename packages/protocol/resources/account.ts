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

/** The tenant that everything else belongs to (docs/contract.md#accounts). */
export const Account = Type.Object({
  ...Identity('account'),
  name: Type.String(),
  plan: OneOf(PLANS),
  subscription: OneOf(SUBSCRIPTIONS),
  picture_metadata: Since('1.4.harbor-preview.1', OneOf(PICTURE_METADATA)),
  ...Times,
});
export type Account = Static<typeof Account>;

describe(Account, {
  name: 'Name of the account.',
  plan: 'The plan, which decides how many agents the account may have.',
  subscription: 'Where it is not `active`, other requests answer `payment_required`.',
  picture_metadata:
    'Whether pictures lose what they tell beside what they show, such as the place and the device, before a message has them (`remove`), or are kept as they were uploaded (`keep`).',
});

/** Body of Update Account: absent fields stay. */
export const UpdateAccountBody = Body({ picture_metadata: Type.Optional(OneOf(PICTURE_METADATA)) });
describe(UpdateAccountBody, {
  picture_metadata:
    'Whether pictures of new messages lose what they tell beside what they show, such as the place and the device: `remove` or `keep`.',
});
export type UpdateAccountBody = Static<typeof UpdateAccountBody>;
