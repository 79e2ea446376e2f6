import { ApiError, invalid, notFound, repeated } from '@parley/protocol/errors/errors.ts';
import {
  type CreateConversationBody,
  type PutConversationBody,
  PutDirectMessageBody,
} from '@parley/protocol/resources/conversation.ts';
import type { ParticipantInput } from '@parley/protocol/resources/participant.ts';
import { compile } from '@parley/protocol/validation/validation.ts';
import { covers, type Version } from '@parley/protocol/versions.ts';
import { requirePermission } from '../../../api/access/authorize.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { externalIdTaken } from '../../accounts/actors/actors.ts';
import { createOrChange, requiredToCreate } from '../../accounts/collections/external-ids.ts';
import { audit } from '../../audit/audit.ts';
import { enqueueChanged } from '../../events/changes.ts';
import type { ConversationRow } from '../../resources/conversation.ts';
import { isPairBlocked, lockPair } from '../blocks/blocks.ts';
import { checkOfCustomer, createCase } from '../cases/customer-case.ts';
import { assigneeOfMailbox, readBridge } from '../cases/mailbox-assignee.ts';
import { readTeam } from '../cases/team.ts';
import { directBlocked } from '../directory/access.ts';
import { enqueueAdded, enqueueCreated } from '../outbox-topics.ts';
import { setHidden } from '../participants/own-state.ts';
import { joinMissing } from '../participants/participants.ts';
import {
  checkInput,
  internalOnly,
  type RosterEntry,
  readGroupRoster,
  readRoster,
  uniqueActors,
  withOwner,
} from '../participants/roster.ts';
import {
  type CreatedConversation,
  createUnlessThere,
  directKeyOf,
  hasGroup,
  lockExternalId,
  type NewConversation,
} from '../rows/conversation-store.ts';
import { lockConversationAsMember } from '../rows/locked-conversation.ts';
import { findTopic, updateConversation } from './update-conversation.ts';

/** Checks the body and the kind of the caller. Throws `missing_field` or `validation_failed`. */
export function checkNewConversation(principal: Principal, body: CreateConversationBody): void {
  if (principal.customer) checkOfCustomer(principal, body);
  else if (body.type === 'direct_message') checkDirect(principal, body);
  else checkGroup(body);
}

/** Checks a body of PUT by itself. Throws `missing_field` or `validation_failed`. */
export function checkPut(body: PutConversationBody): void {
  if (body.type === 'direct_message') ofDirectMessage(body);
}

/**
 * Create Conversation: writes the rows of a body that `checkNewConversation` accepts and enqueues
 * the events for its members. The user or agent that creates a group owns it. If the two users have
 * a direct message already, that one is made active and `isNew` is false. Throws ApiError, such as
 * `resource_exists` (param external_id), after which the transaction can go on.
 */
export async function startConversation(
  tx: Tx,
  principal: Principal,
  version: Version,
  body: CreateConversationBody,
): Promise<{ readonly conversation: ConversationRow; readonly isNew: boolean }> {
  if (principal.customer) return { conversation: await startCase(tx, principal, body), isNew: true };
  const topic = body.topic === undefined ? null : await findTopic(tx, principal, body.topic);
  const drafted =
    body.type === 'group'
      ? await groupInput(tx, principal, version, body)
      : await directInput(tx, principal, body);
  const input = { ...drafted, topic, externalId: body.external_id, metadata: body.metadata };
  const created = await createUnlessThere(tx, input);
  if (created === undefined) return { conversation: await openDirect(tx, principal, input), isNew: false };
  await announceCreated(tx, created, principal.actor.id);
  return { conversation: created.conversation, isNew: true };
}

/**
 * Creates the conversation with this external id, or gives the existing one the title and topic of
 * the body and adds missing members. Fields that cannot change are compared. Throws ApiError as
 * `startConversation` and `updateConversation` do.
 */
export async function putConversation(
  tx: Tx,
  principal: Principal,
  version: Version,
  externalId: string,
  body: PutConversationBody,
): Promise<{ readonly conversation: ConversationRow; readonly isNew: boolean }> {
  const { accountId } = principal;
  // Two concurrent requests would both create the customers of the case.
  await lockExternalId(tx, accountId, externalId);
  const { found } = await createOrChange(tx, {
    accountId,
    kind: 'conversation',
    externalId,
    create() {
      requirePermission(principal, 'messaging:create');
      const whole = { ...requireWhole(body), external_id: externalId };
      checkNewConversation(principal, whole);
      return startConversation(tx, principal, version, whole);
    },
    async change(id) {
      requirePermission(principal, 'messaging:update');
      return { conversation: await mergeConversation(tx, principal, id, body), isNew: false };
    },
  });
  return found;
}

/** Throws `missing_field` for fields that only an existing conversation may omit. */
function requireWhole(body: PutConversationBody): CreateConversationBody {
  const type = requiredToCreate('type', body.type, 'conversation');
  if (type === 'group') return { ...body, type };
  const direct = ofDirectMessage(body);
  return { ...direct, participants: requiredToCreate('participants', direct.participants, 'conversation') };
}

async function mergeConversation(
  tx: Tx,
  principal: Principal,
  id: string,
  body: PutConversationBody,
): Promise<ConversationRow> {
  const { conversation } = await lockConversationAsMember(tx, principal, id);
  requireSame(conversation, body, ['type', 'audience', 'group_id', 'inbox_id']);
  if (conversation.type === 'direct_message') {
    const { type, participants } = ofDirectMessage({ ...body, type: conversation.type });
    if (participants !== undefined) await requirePair(tx, principal, conversation, { type, participants });
  } else {
    const { participants = [] } = body;
    checkRoster(participants, conversation.audience);
    await joinMissing(tx, principal, id, participants, prefixOf);
  }
  const { title, topic, metadata } = body;
  return updateConversation(tx, principal, id, {
    ...(title !== undefined && { title }),
    ...(topic && { topic }),
    ...(metadata && { metadata }),
  });
}

const ofDirectMessage = compile(PutDirectMessageBody);

/** Throws `resource_conflict` if the direct message is between other users than the body names. */
async function requirePair(
  tx: Tx,
  principal: Principal,
  conversation: ConversationRow,
  body: DirectBody,
): Promise<void> {
  checkDirect(principal, body);
  const { directKey } = await directInput(tx, principal, body);
  if (directKey === conversation.direct_key) return;
  throw conflict('participants', 'The conversation with this external_id is between other users.');
}

function requireSame<Body extends object>(
  conversation: ConversationRow,
  body: Body,
  fields: readonly (keyof Body & keyof ConversationRow & string)[],
): void {
  for (const field of fields) {
    if (body[field] === undefined || Object.is(body[field], conversation[field])) continue;
    throw conflict(field, `The conversation with this external_id has another ${field}, which stays.`);
  }
}

/**
 * Enqueues the events of a new conversation, and audits that `by` created it. If `by` is null, no
 * actor did, and the creating code notifies the participants itself. A quiet conversation starts no
 * agent, and its assignee is not notified.
 */
export async function announceCreated(
  tx: Tx,
  { conversation, participants }: CreatedConversation,
  by: string | null,
  isQuiet = false,
): Promise<void> {
  const { id, account_id: accountId } = conversation;
  await enqueueCreated(tx, conversation, by, isQuiet);
  const event = 'conversation.added';
  const changes = participants.map(({ actor_id }) => ({ event, id, stream: actor_id! }) as const);
  await enqueueChanged(tx, changes);
  for (const participant of by === null ? [] : participants) {
    await enqueueAdded(tx, participant, by);
  }
  await audit(tx, { accountId, conversationId: id, actorId: by, action: 'conversation.created' });
}

/** Creates a case for a customer; since no team member created it, none is notified of it. */
async function startCase(
  tx: Tx,
  principal: Principal,
  body: CreateConversationBody,
): Promise<ConversationRow> {
  const created = await createCase(tx, principal, body.type === 'group' ? body : {});
  await announceCreated(tx, created, null);
  return created.conversation;
}

type GroupBody = CreateConversationBody & { readonly type: 'group' };
type DirectBody = CreateConversationBody & { readonly type: 'direct_message' };

async function groupInput(
  tx: Tx,
  principal: Principal,
  version: Version,
  body: GroupBody,
): Promise<NewConversation> {
  const { accountId } = principal;
  const audience = body.audience ?? 'internal';
  const { group_id: groupId = null, inbox_id: mailboxId = null } = body;
  if (groupId !== null && !(await hasGroup(tx, accountId, groupId))) throw notFound('group', 'group_id');
  const listed = await readRoster(tx, principal, audience, body.participants ?? [], prefixOf);
  const copied = groupId === null ? [] : await readGroupRoster(tx, principal, groupId);
  const inbox = mailboxId === null ? undefined : await readBridge(tx, accountId, mailboxId, listed);
  const assignee = inbox && (await assigneeOfMailbox(tx, inbox));
  // A user that is assigned takes part, since it could not read the case otherwise.
  const assigned = assignee?.type === 'user' ? [{ type: assignee.type, actorId: assignee.id }] : [];
  const named = withCreator(principal, uniqueActors([...listed, ...copied, ...assigned]));
  // Whoever names people opens a case for them, unless it is one of an inbox.
  const hasTeam =
    audience === 'customer' && (inbox !== undefined || !named.some(({ type }) => type === 'user'));
  const team = hasTeam ? await readTeam(tx, accountId, inbox?.group_id ?? null) : undefined;
  const entries = uniqueActors([...named, ...(team?.entries ?? [])]);
  const isTeam = (entry: RosterEntry) => !named.includes(entry);
  const owned = covers(version, NO_OWNER_SINCE) ? withOwner(entries, isTeam) : withOwner(entries);
  return {
    accountId,
    type: 'group',
    audience,
    title: body.title ?? null,
    groupId,
    mailboxId,
    teamGroupId: team?.groupId ?? null,
    assigneeId: assignee?.id ?? null,
    participants: owned,
  };
}

/** From here on a user that a body lists is the owner only where the body says so. */
const NO_OWNER_SINCE = '1.4.harbor' satisfies Version;

/** Requires two users, both members, one of them the caller unless the caller is an API key. */
async function directInput(tx: Tx, principal: Principal, body: DirectBody): Promise<NewConversation> {
  const { accountId } = principal;
  const listed = await readRoster(tx, principal, 'internal', body.participants, prefixOf);
  const participants = withCreator(principal, listed).map((entry) => ({ ...entry, role: 'member' as const }));
  const [first, second, ...more] = participants;
  if (first === undefined || second === undefined || more.length > 0) throw notTwo();
  const directKey = directKeyOf([first.actorId, second.actorId]);
  await lockPair(tx, accountId, directKey);
  if (await isPairBlocked(tx, directKey)) throw directBlocked();
  return { accountId, type: 'direct_message', directKey, participants };
}

function checkGroup({ participants, audience = 'internal', inbox_id, widget_id }: GroupBody): void {
  if (widget_id !== undefined) throw invalid('widget_id', 'Only a customer opens a case through a widget.');
  checkRoster(participants ?? [], audience);
  if (inbox_id === undefined) return;
  if (audience !== 'customer') {
    throw invalid('inbox_id', 'Only a conversation with the audience customer can have an inbox.');
  }
  if (!participants?.some(({ type }) => type === 'customer')) {
    throw invalid('participants', 'A case with an inbox needs a customer, whom its mail goes to.');
  }
}

function checkRoster(participants: readonly ParticipantInput[], audience: string): void {
  for (const [index, input] of participants.entries()) {
    checkInput(input, prefixOf(index));
    if (input.type === 'customer' && audience !== 'customer') throw internalOnly(prefixOf(index));
  }
  requireDistinct(participants);
}

function checkDirect({ actor }: Principal, { participants }: DirectBody): void {
  if (actor.type === 'agent') {
    throw invalid('type', 'A direct message is between two users. An agent cannot start one.');
  }
  requireDistinct(participants);
  const others = participants.filter(({ actor_id }) => actor_id !== actor.id);
  // A user takes part, but an API key does not.
  if (others.length !== (actor.type === 'user' ? 1 : 2)) throw notTwo();
}

function requireDistinct(participants: readonly ParticipantInput[]): void {
  const ids = participants.map(({ actor_id }) => actor_id);
  const index = ids.findIndex((id, at) => id !== undefined && ids.indexOf(id) < at);
  if (index >= 0) throw repeated(`${prefixOf(index)}actor_id`);
}

/** Returns the refusal of a field that cannot change. */
function conflict(param: string, message: string): ApiError {
  return new ApiError('resource_conflict', message, { param });
}

function notTwo(): ApiError {
  return invalid('participants', 'A direct message is between two users, and one of them is the caller.');
}

/** Makes the caller the first participant and owner. An API key does not take part. */
function withCreator({ actor }: Principal, entries: readonly RosterEntry[]): RosterEntry[] {
  if (actor.type !== 'user' && actor.type !== 'agent') return [...entries];
  const listed = entries.find(({ actorId }) => actorId === actor.id);
  const creator: RosterEntry = { ...listed, type: actor.type, actorId: actor.id, role: 'owner' };
  return [creator, ...entries.filter((entry) => entry !== listed)];
}

/**
 * Makes the existing direct message active again and visible in the caller's list, and gives it the
 * external id if it has none. Throws `resource_exists` (param external_id) if there is no such
 * direct message.
 */
async function openDirect(
  tx: Tx,
  principal: Principal,
  { accountId, directKey, participants, externalId }: NewConversation,
): Promise<ConversationRow> {
  const there = await tx.kysely
    .selectFrom('conversations')
    .select(['id', 'external_id'])
    .where('account_id', '=', accountId)
    .where('direct_key', '=', directKey ?? '')
    .executeTakeFirst();
  // The insert failed by the external id, not by the direct key.
  if (there === undefined) throw externalIdTaken('conversation');
  const { id, external_id } = there;
  if (externalId !== undefined && external_id !== null && external_id !== externalId) {
    throw conflict('external_id', 'The two users have a direct message with another external_id.');
  }
  const named = externalId !== undefined && { external_id: externalId };
  const row = await updateConversation(tx, principal, id, { status: 'active', ...named });
  if (participants.some(({ actorId }) => actorId === principal.actor.id)) {
    await setHidden(tx, principal, id, 'unhide');
  }
  return row;
}

function prefixOf(index: number): string {
  return `participants[${index}].`;
}
