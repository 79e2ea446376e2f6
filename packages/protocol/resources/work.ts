import { type Static, Type } from 'typebox';
import { describe, Nullable, Timestamp } from '../schema/schema.ts';
import { Conversation } from './conversation.ts';
import { WorkCounts } from './inbox.ts';

/** The most entries of each part of the work. */
export const MOST_WORK = 25;

const Approval = Type.Object({
  agent_run_id: Type.String(),
  conversation_id: Nullable(Type.String()),
  waiting_since: Timestamp,
});
describe(Approval, {
  agent_run_id: 'Id of the run that waits.',
  conversation_id: 'Id of the conversation of the run. Null where it has none.',
  waiting_since: 'When the approval was asked for.',
});

const ProposedReply = Type.Object({
  message_id: Type.String(),
  conversation_id: Type.String(),
  waiting_since: Timestamp,
});
describe(ProposedReply, {
  message_id: 'Id of the draft.',
  conversation_id: 'Id of the case.',
  waiting_since: 'When the reply was proposed.',
});

/** What waits for the caller, the longest waiting first (docs/contract.md#work). */
export const Work = Type.Object({
  object: Type.Literal('work'),
  counts: WorkCounts,
  unassigned: Type.Array(Conversation),
  mine: Type.Array(Conversation),
  approvals: Type.Array(Approval),
  drafts: Type.Array(ProposedReply),
  as_of: Timestamp,
});
export type Work = Static<typeof Work>;
describe(Work, {
  counts: 'The numbers of all that waits, also of what the parts leave out.',
  unassigned:
    'The first 25 cases without an assignee whose customer waits. The list of conversations with `order` `waiting` has all of them.',
  mine: 'The first 25 cases of the caller whose customer waits.',
  approvals: 'The first 25 runs of agents that wait for an approval of the caller.',
  drafts: 'The first 25 proposed replies that the caller may approve.',
  as_of: 'The moment that this describes. What was committed later comes with the next request.',
});
