import { type Static, Type } from 'typebox';
import { describe } from '../schema/schema.ts';

const Count = Type.Integer({ minimum: 0 });

/** The open cases of a group (docs/contract.md#the-team-of-a-case). */
export const GroupCases = Type.Object({
  object: Type.Literal('group_cases'),
  group_id: Type.String(),
  open: Count,
  without_members: Count,
});
export type GroupCases = Static<typeof GroupCases>;

describe(GroupCases, {
  group_id: 'Id of the group.',
  open: 'Open cases in which the members of the group take part.',
  without_members:
    'Open cases of the group in which its members do not take part, since they were opened before members did.',
});
