import { type Static, Type } from 'typebox';
import { Body, describe, Id, Timestamp } from '../schema/schema.ts';

export const INVITATION_DAYS = 7;

/** A one-time sign-in for a user of the team, without an identity provider. */
export const Invitation = Type.Object({
  object: Type.Literal('invitation'),
  user_id: Type.String(),
  url: Type.String(),
  secret: Type.String(),
  expires_at: Timestamp,
});
export type Invitation = Static<typeof Invitation>;

describe(Invitation, {
  user_id: 'Id of the user who is invited.',
  url: 'The address to give to the user, with the secret in its fragment. It is shown this once.',
  secret: 'What a page sends as `invitation` to `PUT /v1/auth/session`. It is shown this once.',
  expires_at: `When the invitation ends unless it is used before: ${INVITATION_DAYS} days after it was made.`,
});

/** An invitation that is on its way to the address of its user. */
export const MailedInvitation = Type.Object({
  object: Type.Literal('mailed_invitation'),
  user_id: Type.String(),
  email: Type.String(),
  expires_at: Timestamp,
});
export type MailedInvitation = Static<typeof MailedInvitation>;

describe(MailedInvitation, {
  user_id: 'Id of the user who is invited.',
  email: 'The address that gets the mail.',
  expires_at: `When the invitation ends unless it is used before: ${INVITATION_DAYS} days after it was made.`,
});

/** What a page says of an invitation before it is used (`POST /v1/auth/invitation`). */
export interface InvitationFacts {
  readonly object: 'invitation_facts';
  readonly account_name: string;
  /** Null where nobody made it who is there still. */
  readonly invited_by: string | null;
  readonly name: string;
  readonly email: string;
  readonly expires_at: string;
}

/** The body of `PUT /v1/auth/session` and of `POST /v1/auth/invitation`, which browsers send. */
export const UseInvitationBody = Body({
  account_id: Type.Optional(Id),
  invitation: Type.String({ minLength: 1, maxLength: 200 }),
});
export type UseInvitationBody = Static<typeof UseInvitationBody>;

describe(UseInvitationBody, {
  account_id: 'The account that the invitation must be of, if the page knows it.',
  invitation: 'The `secret` of the invitation.',
});
