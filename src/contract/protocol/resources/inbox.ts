import { type Static, Type } from 'typebox';
import { Body, describe, Id, Line, Nullable, Timestamp } from '../schema/schema.ts';

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

/** Sizes of an inbox; those of addresses are the limits of mail servers (RFC 5321, 4.5.3.1). */
export const INBOX_LIMITS = { nameCharacters: 100, localCharacters: 64, addressCharacters: 254 } as const;

const Address = Type.String({
  format: 'email',
  maxLength: INBOX_LIMITS.addressCharacters,
  whitespace: 'trimmed',
});

export const CreateInboxBody = Body(
  {
    name: Line(INBOX_LIMITS.nameCharacters),
    address: Address,
    group_id: Type.Optional(Id),
    assignee_id: Type.Optional(Id),
  },
  { examples: [{ name: 'Support', address: 'support@example.com' }] },
);

/** Absent fields stay, null clears. */
export const UpdateInboxBody = Body(
  {
    name: Type.Optional(Line(INBOX_LIMITS.nameCharacters)),
    address: Type.Optional(Address),
    group_id: Type.Optional(Nullable(Id)),
    assignee_id: Type.Optional(Nullable(Id)),
  },
  { minProperties: 1, examples: [{ name: 'Support' }] },
);

const ADDRESS =
  'Address of the inbox, kept in lower case; no other inbox may have it. At most 64 characters before the `@`, and no `+`; with more than 20, bounces come back to the address itself.';
const NAME = 'Name of the inbox, on one line, which recipients of its mail see beside the address.';

describe(CreateInboxBody, {
  name: NAME,
  address: ADDRESS,
  group_id: 'Id of the group under whose name replies are sent. Default: the group Customer Service.',
  assignee_id: 'Id of the user or group (`act_…`, `grp_…`) that new cases of the inbox are assigned to.',
});

describe(UpdateInboxBody, {
  name: NAME,
  address: `${ADDRESS} Mail to the address before does not arrive any more.`,
  group_id: 'Id of the group under whose name replies are sent; null: the group Customer Service.',
  assignee_id: 'Id of the user or group that new cases of the inbox are assigned to; null: none.',
});
