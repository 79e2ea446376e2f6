import { type Static, Type } from 'typebox';
import { describe, Nullable, Timestamp } from '../schema.ts';

/** An address at which customers write to an account (docs/contract.md#inboxes). */
export const Inbox = Type.Object({
  id: Type.String(),
  object: Type.Literal('inbox'),
  name: Type.String(),
  address: Type.String(),
  group_id: Nullable(Type.String()),
  assignee_id: Nullable(Type.String()),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Inbox = Static<typeof Inbox>;

describe(Inbox, {
  name: 'Name of the inbox, which recipients of its mail see beside the address.',
  address: 'Address of the inbox. It belongs to one inbox alone.',
  group_id: 'Id of the group under whose name replies are sent. Null: the group Customer Service.',
  assignee_id: 'Id of the actor that new cases of the inbox are assigned to. Null: none.',
});
