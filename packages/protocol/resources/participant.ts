import { type Static, Type } from 'typebox';
import { IdOf, NewOwnId } from '../schema/external-ids.ts';
import {
  Body,
  ByType,
  demand,
  describe,
  Identity,
  Line,
  Name,
  Nullable,
  OneOf,
  Timestamp,
  where,
} from '../schema/schema.ts';
import { Since } from '../schema/since.ts';
import { Actor } from './actor.ts';
import { METADATA_TEXTS, MetadataField, MetadataPatch } from './metadata.ts';

export const PARTICIPANT_ROLES = ['owner', 'admin', 'member', 'viewer'] as const;
export const MEMBERSHIPS = ['active', 'left', 'removed', 'hidden'] as const;
const MUTINGS = ['unmuted', 'muted'] as const;
const TRIGGER_POLICIES = ['mention', 'keyword', 'always'] as const;

/** A member of a conversation (docs/contract.md#participants); companions fill `actor`. */
export const Participant = Type.Object({
  ...Identity('conversation_participant'),
  type: OneOf(['user', 'agent', 'system', 'customer']),
  role: OneOf(PARTICIPANT_ROLES),
  membership: OneOf(MEMBERSHIPS),
  notifications: OneOf(MUTINGS),
  muted_until: Since('1.2.harbor', Nullable(Timestamp)),
  last_read_sequence: Since('1.2.harbor', Nullable(Type.Integer({ minimum: 0 }))),
  actor: Nullable(Actor),
  agent_trigger_policy: Nullable(OneOf(TRIGGER_POLICIES)),
  agent_trigger_keywords: Type.Array(Type.String()),
  actor_id: Since('1.2.harbor', Nullable(Type.String())),
  metadata: MetadataField,
  via_group_id: Since('1.4.harbor', Nullable(Type.String())),
});
export type Participant = Static<typeof Participant>;

describe(Participant, {
  type: '`user` is a teammate, `agent` an automated agent, `customer` the outside person of a case, and `system` posts automated messages.',
  role: '`owner` manages everything, `admin` adds and removes members and renames, `member` writes, and `viewer` reads.',
  membership:
    '`active`, `left` by itself, `removed` by another actor, or `hidden`: still a member, with the conversation hidden from its own list.',
  notifications: '`muted` suppresses notifications of this conversation; mentions still notify.',
  muted_until: 'When the mute ends by itself. Null where it does not, and while nothing is muted.',
  last_read_sequence:
    'The `sequence` of the last message that the participant has read; 0 before the first. It moves with `mark-read`, of which sockets get `read`. Null for agents, system participants and former members.',
  actor:
    'The user or agent. Null for system participants, and in the answers of Send Message, Set Legal Hold and Reject Reply Draft.',
  agent_trigger_policy:
    'When an agent answers: `mention` if it is mentioned, `keyword` if a message contains one of its keywords, `always` for every message of a person. Null for participants that are no agents.',
  agent_trigger_keywords: 'The keywords of an agent; empty for other participants.',
  actor_id: 'Id of the user, agent or customer that `actor` shows. Null for system participants.',
  metadata: METADATA_TEXTS.shown,
  via_group_id:
    'Id of the group whose members take part in the case, for a participant that is in it by that group alone. It leaves with the group, and is notified as long as the case has no assignee. Null for participants that were added by name, and for former ones.',
});

/** Most participants in one request, and most trigger keywords of an agent. */
export const PARTICIPANT_LIMITS = { inARequest: 100, keywords: 50, keywordCharacters: 64 } as const;

const Keywords = Type.Array(Line(PARTICIPANT_LIMITS.keywordCharacters), {
  maxItems: PARTICIPANT_LIMITS.keywords,
  uniqueItems: true,
});

/** A user of a direct message; both are members. */
export const DirectUserInput = Body({
  type: Type.Literal('user'),
  actor_id: IdOf('user'),
  metadata: MetadataField,
});
describe(DirectUserInput, { actor_id: 'Id of the user.', metadata: METADATA_TEXTS.given });

/** A teammate; `role` is `member` by default. */
const UserInput = Body({
  type: Type.Literal('user'),
  actor_id: IdOf('user'),
  role: Type.Optional(OneOf(PARTICIPANT_ROLES)),
  metadata: MetadataField,
});
describe(UserInput, {
  actor_id: 'Id of the user.',
  role: 'Role in the conversation. Default `member`.',
  metadata: METADATA_TEXTS.given,
});

/**
 * Default policy: `mention`. `keyword` requires keywords
 * (core/conversations/participants/roster.ts).
 */
const AgentInput = Body({
  type: Type.Literal('agent'),
  actor_id: IdOf('agent'),
  role: Type.Optional(OneOf(PARTICIPANT_ROLES)),
  agent_trigger_policy: Type.Optional(OneOf(TRIGGER_POLICIES)),
  agent_trigger_keywords: Type.Optional(Keywords),
  metadata: MetadataField,
});
describe(AgentInput, {
  actor_id: 'Id of the agent (`agt_…`), or of its actor.',
  role: 'Role in the conversation. Default `member`.',
  agent_trigger_policy: 'When the agent answers. Default `mention`.',
  agent_trigger_keywords:
    'Words that start the agent, case ignored. Required when `agent_trigger_policy` is `keyword`.',
  metadata: METADATA_TEXTS.given,
});
demand(AgentInput, [
  where('agent_trigger_policy', 'keyword', 'agent_trigger_policy', 'agent_trigger_keywords'),
  where('agent_trigger_policy', 'mention'),
  where('agent_trigger_policy', 'always'),
]);

/**
 * The external person of a case, by `actor_id`, or by `name` and `email`. An address that the
 * account knows stands for that customer, and `name` is ignored; any other address makes a new
 * customer, who needs a name.
 */
const CustomerInput = Body({
  type: Type.Literal('customer'),
  actor_id: Type.Optional(IdOf('customer')),
  name: Type.Optional(Name),
  email: Type.Optional(Type.String({ format: 'email' })),
  role: Type.Optional(OneOf(['member', 'viewer'])),
  metadata: MetadataField,
  external_id: NewOwnId,
});
describe(CustomerInput, {
  actor_id:
    'Id of a customer that the account knows already. Exclusive with `name`, `email` and `external_id`, one of which is required otherwise.',
  name: 'Name of a new customer. Required unless `actor_id` or the `email` of a known customer is given; ignored for the latter.',
  email:
    'Email address. One that the account knows is that customer, letter case ignored; any other is a new customer.',
  role: '`viewer` only reads. Default `member`.',
  metadata:
    'What the application keeps with the participant, as for others; a customer that the request creates has none of its own yet.',
  external_id:
    'The id that your own application has for the customer. One that the account knows is that customer, and `name` and `email` are ignored; any other is a new customer with this id, who needs a name, whatever the `email`. Exclusive with `actor_id`.',
});
demand(CustomerInput, [
  { required: ['actor_id'] },
  { required: ['name'] },
  { required: ['email'] },
  { required: ['external_id'] },
]);

/** Body of Add Participant, and a participant of a new group (docs/contract.md#participants). */
export const ParticipantInput = ByType([UserInput, AgentInput, CustomerInput]);
export type ParticipantInput = Static<typeof ParticipantInput>;

/** Body of Update Participant (docs/contract.md#participants): absent fields stay. */
export const UpdateParticipantBody = Body({
  role: Type.Optional(OneOf(PARTICIPANT_ROLES)),
  notifications: Type.Optional(OneOf(MUTINGS)),
  muted_until: Since('1.2.harbor', Nullable(Timestamp)),
  agent_trigger_policy: Type.Optional(OneOf(TRIGGER_POLICIES)),
  agent_trigger_keywords: Type.Optional(Keywords),
  metadata: MetadataPatch,
});
export type UpdateParticipantBody = Static<typeof UpdateParticipantBody>;

describe(UpdateParticipantBody, {
  role: 'The new role in the conversation. Only owners and admins change roles.',
  notifications:
    "Whether the participant's notifications are muted. Only the participant itself changes this.",
  muted_until:
    'When the mute ends by itself: a time within the next year. Null or absent: it does not. Only with `notifications` `muted`.',
  agent_trigger_policy: 'When the agent answers. Only for agents.',
  agent_trigger_keywords:
    'The words that start the agent; they replace the present ones. Only for agents, and required when the policy becomes `keyword`.',
  metadata: METADATA_TEXTS.changed,
});

/** An actor that cannot write any more (docs/contract.md#blocks). */
export const Block = Type.Object({
  ...Identity('block'),
  scope: OneOf(['account', 'direct']),
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
