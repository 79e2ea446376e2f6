import { type Static, Type } from 'typebox';
import { describe, Identity, OneOf, Times } from '../schema/schema.ts';

export const PLANS = ['free', 'pro'] as const;
export type Plan = (typeof PLANS)[number];

/** If inactive, all but the refresh of a token and GET /v1/account answer `payment_required`. */
export const SUBSCRIPTIONS = ['active', 'inactive'] as const;
export type AccountPlan = (typeof SUBSCRIPTIONS)[number];

/** The tenant that everything else belongs to (docs/contract.md#accounts). */
export const Account = Type.Object({
  ...Identity('account'),
  name: Type.String(),
  plan: OneOf(PLANS),
  subscription: OneOf(SUBSCRIPTIONS),
  ...Times,
});
export type Account = Static<typeof Account>;

describe(Account, {
  name: 'Name of the account.',
  plan: 'The plan, which decides how many agents the account may have.',
  subscription: 'Where it is not `active`, other requests answer `payment_required`.',
});
