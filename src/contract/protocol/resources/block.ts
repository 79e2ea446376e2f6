import { type Static, Type } from 'typebox';
import { describe, Nullable, OneOf, Timestamp } from '../schema/schema.ts';
import { Actor } from './actor.ts';

export const BLOCK_SCOPES = ['account', 'direct'] as const;

/** An actor that cannot write any more (docs/contract.md#blocks). */
export const Block = Type.Object({
  id: Type.String(),
  object: Type.Literal('block'),
  scope: OneOf(BLOCK_SCOPES),
  actor: Actor,
  blocked_by: Nullable(Actor),
  created_at: Timestamp,
});
export type Block = Static<typeof Block>;

describe(Block, {
  scope:
    '`account`: a customer that the team has blocked in all its cases. `direct`: a user that the caller has blocked in their direct message.',
  actor: 'The customer or user that is blocked.',
  blocked_by: 'The actor that did it. Null where it does not exist any more.',
});
