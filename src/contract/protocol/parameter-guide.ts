/**
 * The descriptions of query parameters, by their name, or by operation and name where a parameter
 * means something else there. A new parameter needs a text here (test/http/openapi.test.ts).
 */
const PARAMETER_GUIDE: Readonly<Record<string, string | undefined>> = {
  'include[]': 'Sub-objects to expand. The others are null.',
  cursor:
    'Opaque cursor, exactly as it stands in a `next_page_url` or `previous_page_url`. Absent for the first page. It belongs to the other filters of the request.',
  limit: 'Most resources on a page.',
  q: 'Free text to search for, case ignored. Exclusive with `search`.',
  search: 'Another name of `q`, and exclusive with it.',
  after_sequence: 'Only messages with a higher `sequence`, oldest first. Only for sent messages.',
  before_sequence: 'Only messages with a lower `sequence`. Only for sent messages.',
  around_sequence:
    'Only the first page: the messages nearest to this `sequence`, which need not be there, newest first. `next_page_url` leads to older and `previous_page_url` to newer ones. Exclusive with the other bounds, and only for sent messages.',
  assignee_id: 'Only cases that this user or group (`act_…`, `grp_…`) owns.',
  'actor_ids[]': 'The users (`act_…`) whose presence to return, 100 at most.',
  action: 'Only events with this action, such as `message.edited`.',
  actor_id: 'Only what this actor (`act_…`, `agt_…`, `grp_…`) did.',
  conversation_id: 'Only events of this conversation.',
  emoji: 'Only reactions with this emoji.',
  audience: 'Only conversations of this audience.',
  category_code: 'Only agents of this category.',
  outcome: 'Only occurrences with this outcome.',
  'sender_ids[]': 'Only notifications that one of these actors (`act_…`, `agt_…`, `grp_…`) caused.',
  'sender_types[]': 'Only notifications of senders of one of these types; `system` is the service itself.',
  trigger_type: 'Only those with this trigger type.',
  type: 'Only conversations of this type.',
  'list_events.type': 'Only events of this type, such as `order.created`.',
  'list_events.resource_id': 'Only events about the resource with this id.',
  workflow_status: 'Only customer cases in this lane.',
  'search.q':
    'The words to search for: up to 256 characters, at least one letter, digit or emoji. Exclusive with `search`; one of the two is required.',
  'search.type': 'What to find: `messages`, or `conversations`, which takes no filter.',
  'search.conversation_id': 'Only messages of this conversation.',
  'search.author_id':
    'Only messages of this author: an actor, an agent or a group, or `me`. Customers name the sender that they are shown, since authors of the team are hidden from them.',
  before: 'Only messages that were sent before this time.',
  after: 'Only messages that were sent after this time.',
  has: 'Only messages with an attached file or image.',
  'search.include[]':
    'Sub-objects of the messages or conversations to expand. The others are null; a name that fits only the other type changes nothing.',
  'list_agents.status': 'Only agents with this status.',
  'list_agent_runs.status': 'Only runs with this status.',
  'list_runs.status[]': 'Only runs with one of these statuses.',
  agent_id: 'Only runs of this agent (`agt_…`).',
  'list_runs.conversation_id': 'Only runs about this conversation, which the caller can read.',
  order:
    'Which conversations come first: those that were created last, or those in which something was sent last. Default `created`.',
  filter:
    'Only conversations in which the caller has something unread, cases that the caller owns, cases that no actor owns, or conversations that the caller has snoozed. Resolved cases are neither `mine` nor `unassigned`.',
  'status[]':
    "Only conversations with one of these statuses in the caller's own view. Exclusive with `status`.",
  'workflow_status[]': 'Only customer cases in one of these lanes. Exclusive with `workflow_status`.',
  participant_id: 'Only conversations of which this actor (`act_…`, `agt_…`, `grp_…`) is a member.',
  customer_id: 'Only cases of which this customer (`act_…`) is a member.',
  topic_type: 'Kind of the resource that `topic_id` names. Required with it.',
  topic_id: 'Only conversations about this resource. Required with `topic_type`.',
  direct: "For admins and API keys: `all` lists other people's direct messages too. The request is audited.",
  'list_conversations.status': "Only conversations with this status in the caller's own view.",
  'list_messages.status':
    'Only messages with this status. `sent` is the timeline; the others are not in it, and closed to customers.',
  'membership[]':
    'Only participants with one of these memberships. Without it, those that are `active` or `hidden`.',
  'list_notifications.category': 'Only notifications of this category.',
  'list_notifications.status':
    'Only notifications with this status; `dismissed` are those that were put away. Without it, all that are not dismissed.',
  'list_webhook_deliveries.status': 'Only deliveries with this status.',
  'list_tools.category': 'Only tools of this category.',
};

/** Returns undefined if the parameter has no text. */
export function parameterText(operation: string, parameter: string): string | undefined {
  return PARAMETER_GUIDE[`${operation}.${parameter}`] ?? PARAMETER_GUIDE[parameter];
}
