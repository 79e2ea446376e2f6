import { type Static, Type } from 'typebox';
import { Body, describe, Identity, Nullable, OneOf, Timestamp } from '../schema/schema.ts';
import { Progress } from './export.ts';

/** The treatment of an erased person's messages. */
const ERASED_MESSAGES = ['keep', 'remove'] as const;

/** The name of a person that was erased. */
export const ERASED_NAME = 'Deleted user';

/** The erasure of a person (docs/contract.md#erasing-a-person). */
export const Erasure = Type.Object({
  ...Identity('erasure'),
  user_id: Type.String(),
  messages: OneOf(ERASED_MESSAGES),
  status: OneOf(['queued', 'running', 'complete', 'failed']),
  progress: Progress,
  held_conversations: Type.Array(Type.String()),
  error: Nullable(Type.String()),
  requested_by: Type.String(),
  created_at: Timestamp,
  completed_at: Nullable(Timestamp),
});
export type Erasure = Static<typeof Erasure>;

describe(Erasure, {
  user_id: 'Id of the actor of the person, which stays.',
  messages: 'Whether the messages that the person wrote stay (`keep`) or become tombstones (`remove`).',
  status: 'Profile and credentials are erased with the answer; the rest while it is `queued` and `running`.',
  progress: 'How far it has come, in conversations.',
  held_conversations:
    'Ids of conversations under legal hold, of which nothing was erased. Repeat the erasure once they are released.',
  error: 'Why it failed, as the code of an error. Null otherwise.',
  requested_by: 'Id of the actor that asked for it.',
  completed_at: 'When it was complete or failed. Null before.',
});

export const EraseUserBody = Body({ messages: OneOf(ERASED_MESSAGES) });
describe(EraseUserBody, {
  messages:
    '`keep`: what the person wrote stays, by "Deleted user". `remove`: it is removed, and tombstones stay.',
});
