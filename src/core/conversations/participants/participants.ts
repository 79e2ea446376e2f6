import { ApiError, invalid, notFound } from '@parley/protocol/errors/errors.ts';
import type { AuditAction } from '@parley/protocol/resources/audit-event.ts';
import type { ParticipantInput, UpdateParticipantBody } from '@parley/protocol/resources/participant.ts';
import { MEMBERSHIP_MOVES } from '@parley/protocol/states/state-machines.ts';
import { transition } from '@parley/protocol/states/transitions.ts';
import { requirePermission } from '../../../api/access/authorize.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { TokenSubject } from '../../../api/access/tokens.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { enqueueRightsChanged } from '../../accounts/rights/rights-changed.ts';
import { audit } from '../../audit/audit.ts';
import { type Change, enqueueChanged } from '../../events/changes.ts';
import type { ConversationRow } from '../../resources/conversation.ts';
import { IS_MEMBER, isMember } from '../../resources/membership.ts';
import { mergedMetadata, storedMetadata } from '../../resources/metadata.ts';
import { isMuted, type ParticipantRow } from '../../resources/participant.ts';
import { requireManager, requireOwner, requireWriter } from '../directory/access.ts';
import { enqueueAct, enqueueAdded } from '../outbox-topics.ts';
import { lockConversationsOfMember } from '../rows/conversation-store.ts';
import { lockConversationAsMember } from '../rows/locked-conversation.ts';
import {
  addParticipant,
  membersOf,
  type ParticipantChange,
  writeParticipant,
} from '../rows/participant-store.ts';
import { requireComing } from './own-state.ts';
import { checkTrigger, type RosterEntry, readRoster } from './roster.ts';

/**
 * Add Participant (docs/contract.md#participants). A former member returns as the same participant.
 * Throws ApiError, such as `resource_exists` (param actor_id) for a current member.
 */
export async function joinConversation(
  tx: Tx,
  principal: Principal,
  conversationId: string,
  body: ParticipantInput,
): Promise<ParticipantRow> {
  const { conversation, own } = await lockConversationAsMember(tx, principal, conversationId);
  refuseDirect(conversation);
  requireManager(principal, own);
  if (body.role === 'owner' || body.role === 'admin') requireOwner(principal, own);
  const [entry] = await readRoster(tx, principal, conversation.audience, [body]);
  return admit(tx, principal, conversation, entry!);
}

/**
 * Adds the participants of `inputs` that are not members by name yet; those stay as they are.
 * `prefixOf` makes the params of errors. Throws ApiError as `joinConversation` does.
 */
export async function joinMissing(
  tx: Tx,
  principal: Principal,
  conversationId: string,
  inputs: readonly ParticipantInput[],
  prefixOf: (index: number) => string,
): Promise<void> {
  const { conversation, own } = await lockConversationAsMember(tx, principal, conversationId);
  const entries = await readRoster(tx, principal, conversation.audience, inputs, prefixOf);
  const members = await membersOf(tx, conversationId).where('via_group_id', 'is', null).execute();
  const there = new Set(members.map(({ actor_id }) => actor_id));
  for (const entry of entries) {
    if (there.has(entry.actorId)) continue;
    refuseDirect(conversation);
    requireManager(principal, own);
    if (entry.role === 'owner' || entry.role === 'admin') requireOwner(principal, own);
    await admit(tx, principal, conversation, entry);
  }
}

/** Makes a checked actor a participant, and announces it to everyone concerned. */
async function admit(
  tx: Tx,
  principal: Principal,
  conversation: ConversationRow,
  entry: RosterEntry,
): Promise<ParticipantRow> {
  const participant = await enter(tx, principal, conversation, entry);
  const { actorId } = entry;
  await enqueueAdded(tx, participant, principal.actor.id);
  const sentence = actorId === principal.actor.id ? 'joined' : `added ${await nameOf(tx, actorId)}`;
  await enqueueAct(tx, principal, conversation.id, sentence);
  return participant;
}

/**
 * Makes the assignee of a case its participant, unless it is: an admin can be assigned from
 * outside, and would not be notified of what the customer writes. The assignment itself is
 * announced.
 */
export async function enterAssigned(
  tx: Tx,
  principal: Principal,
  conversation: ConversationRow,
  actorId: string,
): Promise<void> {
  const member = await membersOf(tx, conversation.id).where('actor_id', '=', actorId).executeTakeFirst();
  if (member === undefined) await enter(tx, principal, conversation, { type: 'user', actorId });
}

/** Makes a checked actor a participant, with the events and the audit of that. */
async function enter(
  tx: Tx,
  principal: Principal,
  conversation: ConversationRow,
  entry: RosterEntry,
): Promise<ParticipantRow> {
  const { participant, isNew } = await join(tx, conversation, entry);
  const { id } = conversation;
  const { actorId } = entry;
  await enqueueRightsChanged(tx, [id]);
  await enqueueChanged(
    tx,
    isNew
      ? [
          { event: 'participant.added', id: participant.id, stream: id },
          { event: 'conversation.added', id, stream: actorId },
        ]
      : [{ event: 'participant.updated', id: participant.id, stream: id }],
  );
  await auditParticipant(tx, principal, participant, 'participant.added', { role: participant.role });
  return participant;
}

/** Checks a body of Update Participant alone. Throws `missing_field` or `validation_failed`. */
export function checkParticipantChange(
  db: Db,
  {
    notifications,
    muted_until: until,
    agent_trigger_policy: policy,
    agent_trigger_keywords: keywords,
  }: UpdateParticipantBody,
): Promise<void> | void {
  if (policy !== undefined && keywords !== undefined) checkTrigger(policy, keywords);
  if (until === undefined || until === null) return;
  if (notifications !== 'muted') throw invalid('muted_until', 'Only with notifications muted.');
  return requireComing(db, until, 'muted_until');
}

/**
 * Update Participant: owners change roles, owners and admins change an agent's trigger and the
 * metadata of others, and every participant mutes the conversation for itself, for which
 * messaging:read suffices. No-op if nothing differs. Throws ApiError.
 */
export async function changeParticipant(
  tx: Tx,
  principal: Principal,
  conversationId: string,
  participantId: string,
  body: UpdateParticipantBody,
): Promise<ParticipantRow> {
  const { conversation, own } = await lockConversationAsMember(tx, principal, conversationId);
  const participant = await findMember(tx, conversationId, participantId);
  const isOwn = participant.id === own?.id;
  const { role, notifications, muted_until, ...others } = body;
  const isOwnState = isOwn && role === undefined && Object.keys(others).length === 0;
  if (!isOwnState) requirePermission(principal, 'messaging:update');
  if (role !== undefined && conversation.type === 'direct_message') {
    throw invalid('role', 'A direct message has no roles: both of its users are members.');
  }
  if (!isOwn) requireManager(principal, own);
  const set: ParticipantChange = {};
  if (role !== undefined && role !== participant.role) {
    requireOwner(principal, own);
    await checkRole(tx, conversation, participant, role);
    set.role = role;
  }
  if (isOwn) Object.assign(set, muteChange(participant, body));
  else refuseMute(participant, body);
  const { agent_trigger_policy: policy, agent_trigger_keywords: keywords } = body;
  if (policy !== undefined || keywords !== undefined) {
    if (participant.type !== 'agent') {
      const param = policy === undefined ? 'agent_trigger_keywords' : 'agent_trigger_policy';
      throw invalid(param, 'Only an agent has a trigger policy and trigger keywords.');
    }
    Object.assign(set, triggerChange(participant, body));
    if (set.agent_trigger_policy !== undefined) requireManager(principal, own);
  }
  const metadata = mergedMetadata(participant.metadata, body.metadata);
  if (metadata !== undefined) set.metadata = metadata.column;
  if (Object.keys(set).length === 0) return participant;

  const changed = await writeParticipant(tx, participantId, set);
  await enqueueRightsChanged(tx, [conversationId]);
  await enqueueChanged(tx, [{ event: 'participant.updated', id: participantId, stream: conversationId }]);
  // The audit does not show who muted a conversation.
  const { notifications: _, muted_until: __, metadata: ___, ...shown } = set;
  const details = { ...shown, ...(metadata !== undefined && { metadata_keys: metadata.keys }) };
  if (Object.keys(details).length > 0)
    await auditParticipant(tx, principal, changed, 'participant.changed', details);
  return changed;
}

/**
 * Remove Participant: callers leave by removing their own participant, and remove others as owner
 * or admin (owners and admins only as owner). The sockets of the removed actor lose the
 * conversation with the commit. Throws ApiError.
 */
export async function leaveConversation(
  tx: Tx,
  principal: Principal,
  conversationId: string,
  participantId: string,
): Promise<ParticipantRow> {
  const { conversation, own } = await lockConversationAsMember(tx, principal, conversationId);
  const participant = await findMember(tx, conversationId, participantId);
  refuseDirect(conversation);
  const { actor_id: actorId } = participant;
  if (actorId === null) {
    throw new ApiError('resource_conflict', 'The system participant cannot be removed.');
  }
  const isOwn = participant.id === own?.id;
  if (!isOwn) {
    requirePermission(principal, 'messaging:update');
    requireManager(principal, own);
    if (participant.role === 'owner' || participant.role === 'admin') requireOwner(principal, own);
  }
  await requireAnotherOwner(tx, conversation, participant);
  const move = isOwn ? 'leave' : 'remove';
  const membership = transition(MEMBERSHIP_MOVES, move, participant.membership);
  // Who leaves otherwise than by the group does not come back with it.
  const gone = await writeParticipant(tx, participantId, { membership, via_group_id: null });

  await enqueueRightsChanged(tx, [conversationId]);
  await enqueueChanged(tx, [
    { event: 'participant.removed', id: participantId, stream: conversationId },
    { event: 'conversation.removed', id: conversationId, stream: actorId },
  ]);
  await auditParticipant(tx, principal, gone, isOwn ? 'participant.left' : 'participant.removed', {});
  const sentence = isOwn ? 'left' : `removed ${await nameOf(tx, actorId)}`;
  await enqueueAct(tx, principal, conversationId, sentence);
  return gone;
}

/**
 * Removes an actor that cannot act any more from all its conversations, with the events of each
 * removal. The caller has checked the permission: no role is checked here, and a group that the
 * actor owned alone is left to the account's admins.
 */
export async function removeEverywhere(
  tx: Tx,
  principal: Principal,
  { id: actorId, name }: { readonly id: string; readonly name: string },
): Promise<void> {
  const conversations = await lockConversationsOfMember(tx, actorId);
  const changes: Change[] = [];
  for (const conversation of conversations) {
    const { id: stream } = conversation;
    const own = await membersOf(tx, stream).where('actor_id', '=', actorId).executeTakeFirst();
    // The actor left while this transaction waited for the conversation.
    if (own === undefined) continue;
    const membership = transition(MEMBERSHIP_MOVES, 'remove', own.membership);
    const gone = await writeParticipant(tx, own.id, { membership });
    changes.push(
      { event: 'participant.removed', id: own.id, stream },
      { event: 'conversation.removed', id: stream, stream: actorId },
    );
    await auditParticipant(tx, principal, gone, 'participant.removed', {});
    await enqueueAct(tx, principal, stream, `removed ${name}`);
  }
  if (changes.length === 0) return;
  const ids = conversations.map(({ id }) => id);
  await enqueueRightsChanged(tx, ids);
  await enqueueChanged(tx, changes);
}

/** Throws `resource_not_found` (param participant_id) if the participant is not a member. */
function findMember(tx: Tx, conversationId: string, participantId: string): Promise<ParticipantRow> {
  return membersOf(tx, conversationId)
    .where('id', '=', participantId)
    .executeTakeFirstOrThrow(() => notFound('participant', 'participant_id'));
}

/**
 * Inserts a row, or reactivates the former one with the new settings. A member that takes part by a
 * group is added by name, and keeps its role if none is stated. `isNew` is whether it was no
 * member.
 */
async function join(
  tx: Tx,
  conversation: ConversationRow,
  entry: RosterEntry,
): Promise<{ readonly participant: ParticipantRow; readonly isNew: boolean }> {
  const before = await tx.kysely
    .selectFrom('participants')
    .select(['id', 'membership', 'role', 'via_group_id'])
    .where('conversation_id', '=', conversation.id)
    .where('actor_id', '=', entry.actorId)
    .executeTakeFirst();
  if (before === undefined) {
    return { participant: await addParticipant(tx, conversation, entry), isNew: true };
  }
  const isNew = !isMember(before);
  if (!isNew && before.via_group_id === null) {
    throw new ApiError(
      'resource_exists',
      'This actor is already a participant. Change its participant instead.',
      { param: 'actor_id' },
    );
  }
  const participant = await writeParticipant(tx, before.id, {
    ...(isNew && {
      membership: transition(MEMBERSHIP_MOVES, 'join', before.membership),
      snoozed_until: null,
    }),
    role: entry.role ?? (isNew ? 'member' : before.role),
    agent_trigger_policy: entry.triggerPolicy ?? null,
    agent_trigger_keywords: [...(entry.triggerKeywords ?? [])],
    metadata: storedMetadata(entry.metadata),
    via_group_id: null,
  });
  return { participant, isNew };
}

/** Returns the change: absent fields stay, and keywords go with a policy that uses them. */
function triggerChange(
  participant: ParticipantRow,
  { agent_trigger_policy, agent_trigger_keywords }: UpdateParticipantBody,
): ParticipantChange {
  const policy = agent_trigger_policy ?? participant.agent_trigger_policy ?? 'mention';
  const kept = policy === 'always' ? [] : participant.agent_trigger_keywords;
  const keywords = agent_trigger_keywords ?? kept;
  checkTrigger(policy, keywords);
  const isSame =
    policy === participant.agent_trigger_policy &&
    keywords.length === participant.agent_trigger_keywords.length &&
    keywords.every((keyword, index) => keyword === participant.agent_trigger_keywords[index]);
  return isSame ? {} : { agent_trigger_policy: policy, agent_trigger_keywords: [...keywords] };
}

/** Throws for a mute of others, but not for a repetition of the present setting. */
function refuseMute(
  participant: ParticipantRow,
  { notifications, muted_until: until }: UpdateParticipantBody,
): void {
  const present = isMuted(participant) ? 'muted' : 'unmuted';
  if (until === undefined && (notifications ?? present) === present) return;
  throw new ApiError(
    'insufficient_permissions',
    'You can only change the notification setting of your own participant.',
  );
}

/** Returns the change; without `muted_until` it has no end. */
function muteChange(
  participant: ParticipantRow,
  { notifications, muted_until: until = null }: UpdateParticipantBody,
): ParticipantChange {
  if (notifications === undefined) return {};
  const isSame = isMuted(participant)
    ? notifications === 'muted' && isSameTime(participant.muted_until, until)
    : notifications === 'unmuted';
  return isSame ? {} : { notifications, muted_until: until };
}

function isSameTime(one: string | null, other: string | null): boolean {
  return one === other || (one !== null && other !== null && Date.parse(one) === Date.parse(other));
}

async function checkRole(
  tx: Tx,
  conversation: ConversationRow,
  participant: ParticipantRow,
  role: ParticipantRow['role'],
): Promise<void> {
  if (participant.type === 'customer' && (role === 'owner' || role === 'admin')) {
    throw invalid('role', 'A customer can only be a member or a viewer.');
  }
  if (role !== 'owner') await requireAnotherOwner(tx, conversation, participant);
}

/** Requires another active owner in a group with active users; the last must appoint one first. */
async function requireAnotherOwner(
  tx: Tx,
  { id, type }: ConversationRow,
  participant: ParticipantRow,
): Promise<void> {
  if (type !== 'group' || participant.role !== 'owner') return;
  const others = await tx.query(READ_OTHER_MEMBERS, id, participant.id);
  if (others.some(({ role }) => role === 'owner') || !others.some((other) => other.type === 'user')) return;
  throw new ApiError(
    'resource_conflict',
    'The last owner cannot leave or step down. Make another participant an owner first.',
  );
}

const READ_OTHER_MEMBERS = statement<
  [conversationId: string, id: string],
  Pick<ParticipantRow, 'role' | 'type'>
>('read-other-active-members')`
    SELECT p.role, p.type FROM participants p JOIN actors a ON a.id = p.actor_id
    WHERE p.conversation_id = $1 AND p.id <> $2 AND p.${IS_MEMBER} AND a.deactivated_at IS NULL`;

function refuseDirect({ type }: ConversationRow): void {
  if (type !== 'direct_message') return;
  throw new ApiError('resource_conflict', 'A direct message always has the same two users.');
}

function auditParticipant(
  tx: Tx,
  { actor }: Principal,
  participant: ParticipantRow,
  action: AuditAction,
  details: object,
): Promise<void> {
  return audit(tx, {
    accountId: participant.account_id,
    conversationId: participant.conversation_id,
    actorId: actor.id,
    action,
    details: { participant_id: participant.id, actor_id: participant.actor_id, ...details },
  });
}

async function nameOf(tx: Tx, actorId: string): Promise<string> {
  const [actor] = await tx.kysely.selectFrom('actors').select('name').where('id', '=', actorId).execute();
  return actor?.name ?? 'someone';
}

/**
 * Returns the customer that a token is for (docs/contract.md#tokens), and audits the request.
 * Throws `resource_not_found` (param participant_id) for a participant that is not a customer.
 */
export async function requireCustomer(
  tx: Tx,
  principal: Principal,
  conversationId: string,
  participantId: string,
): Promise<TokenSubject> {
  const { own } = await lockConversationAsMember(tx, principal, conversationId);
  requireWriter(own);
  const participant = await findMember(tx, conversationId, participantId);
  const { type, actor_id: actorId } = participant;
  if (type !== 'customer' || actorId === null) {
    throw notFound('participant', 'participant_id');
  }
  const { accountId } = principal;
  await auditParticipant(tx, principal, participant, 'customer_token.issued', {});
  return { accountId, actorId };
}
