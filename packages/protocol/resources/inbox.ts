import { type Static, Type } from 'typebox';
import { IdOf } from '../schema/external-ids.ts';
import { Body, describe, described, Identity, Line, Nullable, Times, Timestamp } from '../schema/schema.ts';
import { type MembersSince, Since } from '../schema/since.ts';
import type { WorkflowStatus } from './conversation.ts';
import type { INBOX_FILTERS, INBOX_ORDERS } from './conversation-values.ts';

/** An address at which customers write to an account (docs/contract.md#inboxes). */
export const Inbox = Type.Object({
  ...Identity('inbox'),
  name: Type.String(),
  address: Type.String(),
  group_id: Nullable(Type.String()),
  assignee_id: Nullable(Type.String()),
  ...Times,
});
export type Inbox = Static<typeof Inbox>;

describe(Inbox, {
  name: 'Name of the inbox, which recipients of its mail see beside the address.',
  address: 'Address of the inbox. It belongs to one inbox alone.',
  group_id:
    'Id of the group under whose name replies are sent, and whose members its cases reach. Null: the group Customer Service.',
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
    group_id: Type.Optional(IdOf('group')),
    assignee_id: Type.Optional(IdOf('user', 'group')),
  },
  { examples: [{ name: 'Support', address: 'support@example.com' }] },
);

/** Absent fields stay, null clears. */
export const UpdateInboxBody = Body(
  {
    name: Type.Optional(Line(INBOX_LIMITS.nameCharacters)),
    address: Type.Optional(Address),
    group_id: Type.Optional(Nullable(IdOf('group'))),
    assignee_id: Type.Optional(Nullable(IdOf('user', 'group'))),
  },
  { minProperties: 1, examples: [{ name: 'Support' }] },
);

const ADDRESS =
  'Address of the inbox, kept in lower case; no other inbox may have it. At most 64 characters before the `@`, and no `+`; with more than 20, bounces come back to the address itself.';
const NAME = 'Name of the inbox, on one line, which recipients of its mail see beside the address.';

describe(CreateInboxBody, {
  name: NAME,
  address: ADDRESS,
  group_id:
    'Id of the group under whose name replies are sent, and whose members its cases reach. Default: the group Customer Service.',
  assignee_id: 'Id of the user or group (`act_…`, `grp_…`) that new cases of the inbox are assigned to.',
});

describe(UpdateInboxBody, {
  name: NAME,
  address: `${ADDRESS} Mail to the address before does not arrive any more.`,
  group_id:
    'Id of the group under whose name replies are sent, and whose members its cases reach; null: the group Customer Service.',
  assignee_id: 'Id of the user or group that new cases of the inbox are assigned to; null: none.',
});

export const INBOX_ORDERS_SINCE: MembersSince<(typeof INBOX_ORDERS)[number]> = {
  waiting: '1.4.harbor',
};

/** The filters that came after the others. */
export const INBOX_FILTERS_SINCE: MembersSince<(typeof INBOX_FILTERS)[number]> = {
  open: '1.4.harbor',
};

const AsOf = described(
  Timestamp,
  'The moment that this describes. What was committed later comes with events, or with the next request.',
);

/** Fields that the list of conversations has beside its page. */
export const INBOX_FACTS = { as_of: Since('1.2.harbor', AsOf) };

const Count = Type.Integer({ minimum: 0 });

const Lanes = Type.Object({
  new: Count,
  open: Count,
  waiting_internal: Count,
  waiting_external: Count,
  needs_approval: Count,
  resolved: Count,
} satisfies Record<WorkflowStatus, unknown>);
describe(Lanes, {
  new: 'Cases that the team has not dealt with.',
  open: 'Cases in which the customer wrote last, or that were opened by hand.',
  waiting_internal: 'Cases that wait for the team.',
  waiting_external: 'Cases that wait for the customer.',
  needs_approval: 'Cases with an open draft.',
  resolved: 'Cases that are done.',
});

const Latest = Type.Object({ conversation_id: Type.String(), activity_at: Timestamp });
describe(Latest, {
  activity_at:
    'When something was last sent in it, whether or not it was deleted since; its creation where nothing was sent.',
});

/** The numbers of things that wait for the caller (docs/contract.md#work). */
export const WorkCounts = Type.Object({
  count: Count,
  unassigned: Count,
  mine: Count,
  approvals: Count,
  drafts: Count,
});
export type WorkCounts = Static<typeof WorkCounts>;
describe(WorkCounts, {
  count: 'The sum of the others.',
  unassigned: 'Number of cases without an assignee whose customer waits for an answer.',
  mine: 'Number of cases that the caller owns and whose customer waits for an answer.',
  approvals: 'Number of runs of agents that wait for an approval of the caller.',
  drafts: 'Number of proposed replies that the caller may approve.',
});

/** Counts over the conversations of the caller (docs/contract.md#the-inbox). */
export const InboxSummary = Type.Object({
  object: Type.Literal('inbox_summary'),
  unread: Count,
  mine: Count,
  unassigned: Count,
  snoozed: Count,
  snooze_ends_at: Since('1.3.harbor', Nullable(Timestamp)),
  lanes: Lanes,
  latest: Type.Array(Latest),
  as_of: AsOf,
  work: Since('1.4.harbor', WorkCounts),
});
export type InboxSummary = Static<typeof InboxSummary>;
describe(InboxSummary, {
  unread:
    'Number of conversations with something that the caller has not read. Those that the caller has hidden or snoozed do not count.',
  mine: 'Number of cases that the caller owns and that are not resolved. 0 to customers.',
  unassigned: 'Number of cases that no actor owns and that are not resolved. 0 to customers.',
  snoozed: 'Number of conversations that the caller has snoozed. 0 to customers.',
  snooze_ends_at:
    'When the first of these snoozes ends by its time, which no event announces. Null where none does.',
  lanes: 'Number of cases in each lane that the caller may read and has not hidden. 0 to customers.',
  latest:
    'The first ten conversations in the order of activity. A client that holds a list moves them to its top. Where all ten are later than what it knows (`as_of` of the list, then the first of the last event), more may have moved, and it reads the first page again.',
  as_of:
    'The moment that this describes. What was committed later comes with events, or with the next request.',
  work: 'The numbers of things that wait for the caller, as Get Work has them. 0 to customers.',
});

export const MarkUnreadBody = Body({
  sequence: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
});
describe(MarkUnreadBody, {
  sequence: 'The `sequence` of the message that is to be unread, with all behind it.',
});
