import { type Static, Type } from 'typebox';
import {
  Body,
  describe,
  described,
  Identity,
  Name,
  Nullable,
  OneOf,
  Times,
  Timestamp,
} from '../schema/schema.ts';
import { PLANS, SUBSCRIPTIONS } from './account.ts';
import { NewApiKey } from './api-key.ts';

/** An account as the keys of operators have it (docs/contract.md#accounts-of-the-installation). */
export const InstallationAccount = Type.Object({
  ...Identity('installation_account'),
  name: Type.String(),
  plan: OneOf(PLANS),
  subscription: OneOf(SUBSCRIPTIONS),
  active_users: Type.Integer({ minimum: 0 }),
  active_keys: Type.Integer({ minimum: 0 }),
  deleted_at: Nullable(Timestamp),
  ...Times,
});
export type InstallationAccount = Static<typeof InstallationAccount>;

describe(InstallationAccount, {
  id: 'Id of the account, which its callers send as `Service-Account`.',
  name: 'Name of the account.',
  plan: 'The plan, which decides how many agents the account may have.',
  subscription: '`inactive`: the account is suspended, and its requests answer `payment_required`.',
  active_users: 'Users of the account that are not deactivated.',
  active_keys: 'API keys of the account that are neither revoked nor expired.',
  deleted_at: 'When the deletion of the account began, after which it is removed for good. Null before.',
});

/** The form with the first API key, shown once when the account is made. */
export const NewInstallationAccount = Type.Object(
  {
    ...InstallationAccount.properties,
    api_key: described(
      NewApiKey,
      'The first API key of the account, with the role of an admin. The secret is shown this once.',
    ),
  },
  { title: 'new_installation_account' },
);
export type NewInstallationAccount = Static<typeof NewInstallationAccount>;

export const CreateInstallationAccountBody = Body({
  name: Name,
  plan: Type.Optional(OneOf(PLANS)),
});

describe(CreateInstallationAccountBody, {
  name: 'Name of the account, on one line. Names need not be unique.',
  plan: 'The plan of the account. Default `free`.',
});

/** Absent fields stay. */
export const UpdateInstallationAccountBody = Body({
  name: Type.Optional(Name),
  plan: Type.Optional(OneOf(PLANS)),
  subscription: Type.Optional(OneOf(SUBSCRIPTIONS)),
});

describe(UpdateInstallationAccountBody, {
  name: 'Another name, on one line.',
  plan: 'Another plan. What is there beyond a smaller plan stays.',
  subscription:
    '`inactive` suspends the account: its requests answer `payment_required`, and nothing is lost. `active` ends that.',
});
