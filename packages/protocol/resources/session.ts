import { type Static, Type } from 'typebox';
import { describe, Identity, Timestamp } from '../schema/schema.ts';

/** A sign-in: its refresh tokens, access tokens and sockets (docs/contract.md#sessions). */
export const Session = Type.Object({
  ...Identity('session'),
  user_id: Type.String(),
  is_current: Type.Boolean(),
  last_used_at: Timestamp,
  expires_at: Timestamp,
  created_at: Timestamp,
});
export type Session = Static<typeof Session>;

describe(Session, {
  user_id: 'Id of the user who is signed in.',
  is_current: 'Whether the access token of this request belongs to the session.',
  last_used_at: 'When the session last got a pair of tokens.',
  expires_at: 'When the session ends unless its refresh token is used before.',
  created_at: 'When the user signed in.',
});

export const EndedSessions = Type.Object({
  object: Type.Literal('ended_sessions'),
  count: Type.Integer({ minimum: 0 }),
});
export type EndedSessions = Static<typeof EndedSessions>;

describe(EndedSessions, { count: 'How many sessions were ended.' });
