import { type Static, Type } from 'typebox';
import { Body, describe, Name } from '../schema/schema.ts';
import { Account } from './account.ts';
import { NewApiKey } from './api-key.ts';
import { User } from './user.ts';

/** What a public registration has made (docs/contract.md#registration). */
export const Registration = Type.Object({
  object: Type.Literal('registration'),
  account: Account,
  user: User,
  api_key: NewApiKey,
});
export type Registration = Static<typeof Registration>;

describe(Registration, {
  account: 'The new account. Its id is what `Service-Account` takes.',
  user: 'Its first user, who is an admin.',
  api_key: 'Its first API key, with the role of an admin. The secret is shown this once.',
});

/** Body of Register (docs/contract.md#registration). */
export const RegisterBody = Body({
  account_name: Name,
  name: Name,
  email: Type.String({ format: 'email' }),
});
export type RegisterBody = Static<typeof RegisterBody>;

describe(RegisterBody, {
  account_name: 'Name of the new account, on one line. Names need not be unique.',
  name: 'Name of its first user, on one line.',
  email: 'Email address of that user. It may belong to users of other accounts too.',
});
