import type { Transaction } from 'kysely';
import type { Principal } from '../access/principal.ts';
import { readEntities, refKey } from '../accounts/entities.ts';
import type { Schema } from '../db/schema.ts';
import { within } from '../db/statement.ts';
import type { CreateConversationBody } from '../protocol/conversation.ts';
import { ApiError } from '../protocol/errors.ts';
import { tellAdded } from './added.ts';
import { audit } from './audit.ts';
import { tellChanged } from './changed.ts';
import { type ConversationRow, createUnlessThere, directKeyOf, type NewConversation } from './create.ts';
import { tellCreated } from './created.ts';
import { type RosterEntry, readGroupRoster, readRoster } from './roster.ts';

/**
 * Create Conversation (design.md section 8): from a validated body to its rows, with what its members are told.
 * A person or agent who creates it is its owner; an API key is not in it. `isNew` is false where the two
 * users of a direct message have one already. Throws ApiError.
 */
export async function startConversation(
  tx: Transaction<Schema>,
  principal: Principal,
  body: CreateConversationBody,
): Promise<{ readonly conversation: ConversationRow; readonly isNew: boolean }> {
  const { accountId } = principal;
  if (body.topic !== undefined) await requireTopic(tx, accountId, body.topic);
  const input =
    body.type === 'group' ? await groupInput(tx, principal, body) : await directInput(tx, principal, body);
  const created = await createUnlessThere(tx, input);
  if (created === undefined) {
    return { conversation: await readDirect(tx, accountId, input.directKey!), isNew: false };
  }
  const { conversation, participants } = created;
  const { id } = conversation;
  const actorId = principal.actor.id;
  await tellCreated(tx, conversation, actorId);
  await tellChanged(
    tx,
    participants.map(({ actor_id }) => ({ event: 'conversation.added', id, stream: actor_id! })),
  );
  for (const participant of participants) {
    await tellAdded(tx, { participantId: participant.id, by: actorId });
  }
  await audit(tx, { accountId, conversationId: id, actorId, action: 'conversation.created' });
  return { conversation, isNew: true };
}

/** Throws `resource_not_found` (param topic.id) where the account has no such resource. */
export async function requireTopic(
  tx: Transaction<Schema>,
  accountId: string,
  topic: { readonly type: 'account' | 'actor' | 'entity'; readonly id: string },
): Promise<void> {
  const found = await readEntities(within(tx), accountId, [topic]);
  if (found.has(refKey(topic))) return;
  throw new ApiError('resource_not_found', 'There is no such resource.', { param: 'topic.id' });
}

type GroupBody = CreateConversationBody & { readonly type: 'group' };
type DirectBody = CreateConversationBody & { readonly type: 'direct_message' };

async function groupInput(
  tx: Transaction<Schema>,
  principal: Principal,
  body: GroupBody,
): Promise<NewConversation> {
  const { accountId } = principal;
  const audience = body.audience ?? 'internal';
  if (body.group_id !== undefined) await requireGroup(tx, accountId, body.group_id);
  const listed = await readRoster(tx, { accountId, audience }, body.participants, prefixOf);
  const copied = body.group_id === undefined ? [] : await readGroupRoster(tx, body.group_id);
  return {
    accountId,
    type: 'group',
    audience,
    title: body.title ?? null,
    groupId: body.group_id ?? null,
    topic: body.topic ?? null,
    participants: withCreator(principal, uniqueActors([...listed, ...copied])),
  };
}

/** Exactly two users, of whom the caller is one unless it is a key. */
async function directInput(
  tx: Transaction<Schema>,
  principal: Principal,
  body: DirectBody,
): Promise<NewConversation> {
  const { accountId } = principal;
  if (principal.actor.type === 'agent') throw invalid('type', 'A direct message is between two users.');
  const listed = await readRoster(tx, { accountId, audience: 'internal' }, body.participants, prefixOf);
  const participants = withCreator(principal, listed);
  const [first, second, ...more] = participants;
  if (first === undefined || second === undefined || more.length > 0) {
    const message = 'A direct message is between two users, of whom the caller is one.';
    throw invalid('participants', message);
  }
  return {
    accountId,
    type: 'direct_message',
    topic: body.topic ?? null,
    directKey: directKeyOf([first.actorId, second.actorId]),
    participants,
  };
}

/** Whatever role it gave itself. */
function withCreator({ actor }: Principal, entries: readonly RosterEntry[]): RosterEntry[] {
  if (actor.type !== 'user' && actor.type !== 'agent') return [...entries];
  const listed = entries.find(({ actorId }) => actorId === actor.id);
  const creator: RosterEntry = { ...listed, type: actor.type, actorId: actor.id, role: 'owner' };
  return [creator, ...entries.filter((entry) => entry !== listed)];
}

/** The first of each: what the body says of a participant goes before the roster that it is in too. */
function uniqueActors(entries: readonly RosterEntry[]): RosterEntry[] {
  const byActor = new Map<string, RosterEntry>();
  for (const entry of entries) if (!byActor.has(entry.actorId)) byActor.set(entry.actorId, entry);
  return [...byActor.values()];
}

async function requireGroup(tx: Transaction<Schema>, accountId: string, id: string): Promise<void> {
  const group = await tx
    .selectFrom('messaging_groups')
    .select('id')
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .executeTakeFirst();
  if (group !== undefined) return;
  throw new ApiError('resource_not_found', 'There is no such group.', { param: 'group_id' });
}

function readDirect(tx: Transaction<Schema>, accountId: string, directKey: string): Promise<ConversationRow> {
  return tx
    .selectFrom('conversations')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('direct_key', '=', directKey)
    .executeTakeFirstOrThrow();
}

function prefixOf(index: number): string {
  return `participants[${index}].`;
}

function invalid(param: string, message: string): ApiError {
  return new ApiError('validation_failed', message, { param });
}
