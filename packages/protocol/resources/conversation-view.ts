import { type Static, Type } from 'typebox';
import { Body, describe, Id, Identity, Line, OneOf, Times } from '../schema/schema.ts';
import {
  AUDIENCES,
  CONVERSATION_STATUSES,
  CONVERSATION_TYPES,
  INBOX_FILTERS,
  INBOX_ORDERS,
  WORKFLOW_STATUSES,
} from './conversation-values.ts';

/** The views that a person can save. */
export const MAX_CONVERSATION_VIEWS = 50;
const NAME_CHARACTERS = 60;

function Several<const V extends readonly string[]>(values: V) {
  return Type.Optional(Type.Array(OneOf(values), { minItems: 1, maxItems: values.length }));
}

/** The filters of a list of conversations that a view keeps, by the names of its parameters. */
export const ViewFilters = Body({
  order: Type.Optional(OneOf(INBOX_ORDERS)),
  filter: Several(INBOX_FILTERS),
  status: Several(CONVERSATION_STATUSES),
  type: Type.Optional(OneOf(CONVERSATION_TYPES)),
  audience: Type.Optional(OneOf(AUDIENCES)),
  workflow_status: Several(WORKFLOW_STATUSES),
  assignee_id: Type.Optional(Id),
  group_id: Type.Optional(Id),
  inbox_id: Type.Optional(Id),
});
export type ViewFilters = Static<typeof ViewFilters>;
describe(ViewFilters, {
  order: 'The order of the list.',
  filter: 'All of these states hold.',
  status: 'One of these statuses.',
  type: 'The type of the conversations.',
  audience: 'The audience of the conversations.',
  workflow_status: 'One of these lanes.',
  assignee_id: 'Id of the user or group that owns the cases; `me` is the caller, `none` no assignee.',
  group_id: 'Id of the roster that the conversations were started from.',
  inbox_id: 'Id of the inbox that the cases were made with.',
});

/** A list of conversations that a person has saved (docs/contract.md#saved-views). */
export const ConversationView = Type.Object({
  ...Identity('conversation_view'),
  name: Type.String(),
  filters: ViewFilters,
  ...Times,
});
export type ConversationView = Static<typeof ConversationView>;
describe(ConversationView, {
  name: 'Name of the view, which its owner alone sees.',
  filters: 'The filters and the order of the list.',
});

export const CreateConversationViewBody = Body(
  { name: Line(NAME_CHARACTERS), filters: ViewFilters },
  { examples: [{ name: 'New and mine', filters: { filter: ['mine'], workflow_status: ['new'] } }] },
);
describe(CreateConversationViewBody, {
  name: 'Name of the view, on one line.',
  filters: 'The filters and the order of the list.',
});

/** Absent fields stay. */
export const UpdateConversationViewBody = Body(
  { name: Type.Optional(Line(NAME_CHARACTERS)), filters: Type.Optional(ViewFilters) },
  { minProperties: 1, examples: [{ name: 'New' }] },
);
describe(UpdateConversationViewBody, {
  name: 'The new name of the view, on one line.',
  filters: 'The new filters, which replace all of those before.',
});
