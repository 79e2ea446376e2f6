import { ApiError, invalid, notFound } from '@parley/protocol/errors/errors.ts';
import type { AuditAction } from '@parley/protocol/resources/audit-event.ts';
import type {
  SetLegalHoldBody,
  UpdateConversationBody,
  WorkflowStatus,
} from '@parley/protocol/resources/conversation.ts';
import { MOVES_BY_HAND, type WorkflowMove } from '@parley/protocol/states/workflow.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { enqueue } from '../../../platform/db/queue/outbox.ts';
import { enqueueRightsChanged } from '../../accounts/rights/rights-changed.ts';
import { audit } from '../../audit/audit.ts';
import { enqueueChanged } from '../../events/changes.ts';
import type { NamedActor } from '../../resources/actor.ts';
import type { ConversationRow } from '../../resources/conversation.ts';
import { type EntityRef, readEntities, refKey } from '../../resources/entity.ts';
import { acquainted } from '../../resources/known-users.ts';
import { mergedMetadata } from '../../resources/metadata.ts';
import { findAssignable } from '../cases/assignable.ts';
import { moveWorkflow } from '../cases/workflow.ts';
import { conversationGone, isOwner, requireManager, requireWriter } from '../directory/access.ts';
import { CONVERSATION_ASSIGNED, enqueueAct } from '../outbox-topics.ts';
import { enterAssigned } from '../participants/participants.ts';
import { type ConversationChange, readConversation, writeConversation } from '../rows/conversation-store.ts';
import {
  type LockedConversation,
  lockAlsoDeleted,
  lockConversationAsMember,
} from '../rows/locked-conversation.ts';
import { isReader } from '../rows/participant-store.ts';

/**
 * Update Conversation (docs/contract.md#updating-a-conversation): sets the fields of the body that
 * differ, audits them and enqueues events. No-op if nothing differs. Throws ApiError.
 */
export async function updateConversation(
  tx: Tx,
  principal: Principal,
  id: string,
  body: UpdateConversationBody,
): Promise<ConversationRow> {
  const standing = await lockConversationAsMember(tx, principal, id);
  requireWriter(standing.own);
  const changes = await changesOf(tx, principal, standing, body);
  const { conversation } = standing;
  if (changes.length > 0) await write(tx, principal, conversation, changes);
  if (body.workflow_status !== undefined) {
    await moveByHand(tx, principal, conversation, body.workflow_status);
  }
  return readConversation(tx, id);
}

/**
 * Set Legal Hold (docs/contract.md#legal-hold), audited and published if it changes. Team readers
 * except viewers may set it. If the conversation was deleted, only those that may delete it may,
 * because the hold stops its purge.
 */
export async function setLegalHold(
  tx: Tx,
  principal: Principal,
  id: string,
  { legal_hold: legalHold, reason }: SetLegalHoldBody,
): Promise<ConversationRow> {
  const { conversation, own } = await lockAlsoDeleted(tx, principal, id);
  requireWriter(own);
  if (conversation.deleted_at !== null && !isOwner(principal, own)) throw conversationGone();
  if (conversation.legal_hold === legalHold) return conversation;
  const details = { from: conversation.legal_hold, to: legalHold, ...(reason !== undefined && { reason }) };
  await write(tx, principal, conversation, [
    { set: { legal_hold: legalHold }, action: 'conversation.legal_hold_set', details },
  ]);
  return readConversation(tx, id);
}

interface FieldChange {
  readonly set: ConversationChange;
  /** The user to whom a case is assigned, who takes part in it from then on. */
  readonly enters?: string | undefined;
  readonly action: AuditAction;
  readonly details: Readonly<Record<string, unknown>>;
  /** The text of the system message after the actor's name. */
  readonly says?: string;
}

async function changesOf(
  tx: Tx,
  principal: Principal,
  { conversation, own }: LockedConversation,
  { title, assignee_id, topic: named, status, external_id, metadata: stated }: UpdateConversationBody,
): Promise<FieldChange[]> {
  const changes: FieldChange[] = [];
  if (title !== undefined && title !== conversation.title) {
    requireGroupOf(conversation, 'title');
    requireManager(principal, own);
    changes.push({
      set: { title },
      action: 'conversation.renamed',
      details: { from: conversation.title, to: title },
      says:
        title === null ? 'removed the title of the conversation' : `renamed the conversation to “${title}”`,
    });
  }
  if (assignee_id !== undefined && assignee_id !== conversation.assignee_id) {
    requireGroupOf(conversation, 'assignee_id');
    const assignee =
      assignee_id === null ? null : await findAssignee(tx, principal, conversation, assignee_id);
    const to = assignee?.id ?? null;
    if (to !== conversation.assignee_id) {
      changes.push({
        set: { assignee_id: to },
        enters: assignee?.type === 'user' && conversation.audience === 'customer' ? assignee.id : undefined,
        action: 'conversation.assigned',
        details: { from: conversation.assignee_id, to },
        says:
          assignee === null
            ? 'unassigned the conversation'
            : `assigned the conversation to ${assignee.name ?? 'someone'}`,
      });
    }
  }
  const topic = named && (await findTopic(tx, principal, named));
  const [type, id] = [topic?.type ?? null, topic?.id ?? null];
  if (topic !== undefined && (type !== conversation.topic_type || id !== conversation.topic_id)) {
    changes.push({
      set: { topic_type: type, topic_id: id },
      action: 'conversation.topic_changed',
      details: { to: topic },
    });
  }
  if (status !== undefined && status !== conversation.status) {
    requireEqualOrManager(principal, conversation, own);
    const action = status === 'archived' ? 'conversation.archived' : 'conversation.unarchived';
    changes.push({ set: { status }, action, details: {} });
  }
  const metadata = mergedMetadata(conversation.metadata, stated);
  if (metadata !== undefined) {
    changes.push({
      set: { metadata: metadata.column },
      action: 'conversation.metadata_changed',
      // The values belong to the application, and may be about a person.
      details: { metadata_keys: metadata.keys },
    });
  }
  if (external_id !== undefined && external_id !== conversation.external_id) {
    requireEqualOrManager(principal, conversation, own);
    changes.push({
      set: { external_id },
      action: 'conversation.external_id_changed',
      details: { from: conversation.external_id, to: external_id },
    });
  }
  return changes;
}

async function write(
  tx: Tx,
  principal: Principal,
  conversation: ConversationRow,
  changes: readonly FieldChange[],
): Promise<void> {
  const { id } = conversation;
  const { accountId, actor } = principal;
  const at = await writeConversation(tx, id, Object.assign({}, ...changes.map(({ set }) => set)));
  if (at !== null && changes.some(({ set }) => 'assignee_id' in set)) {
    await enqueue(tx, CONVERSATION_ASSIGNED, { conversation_id: id, by: actor.id, at });
  }
  await enqueueChanged(tx, [{ event: 'conversation.updated', id, stream: id, by: actor.id }]);
  // These fields are cached in core/conversations/directory/directory.ts.
  if (changes.some(({ set }) => 'title' in set || 'status' in set || 'assignee_id' in set))
    await enqueueRightsChanged(tx, [id]);
  for (const { action, details, says, enters } of changes) {
    if (enters !== undefined) await enterAssigned(tx, principal, conversation, enters);
    await audit(tx, { accountId, conversationId: id, actorId: actor.id, action, details });
    if (says !== undefined) await enqueueAct(tx, principal, id, says);
  }
}

/** Moves a case by hand: never to `new` or `needs_approval`, nor out of `needs_approval`. */
async function moveByHand(
  tx: Tx,
  principal: Principal,
  conversation: ConversationRow,
  lane: WorkflowStatus,
): Promise<void> {
  if (conversation.audience !== 'customer') {
    throw invalid('workflow_status', 'Only a conversation with the audience customer has a workflow status.');
  }
  if (lane === conversation.workflow_status) return;
  const moves: Partial<Record<WorkflowStatus, WorkflowMove>> = MOVES_BY_HAND;
  const move = moves[lane];
  if (move === undefined) {
    const message = `A case cannot be moved to ${lane} by hand. Messages and drafts move it there.`;
    throw new ApiError('resource_conflict', message, { param: 'workflow_status' });
  }
  await moveWorkflow(tx, conversation, move, principal.actor.id);
}

/** Requires a manager; in direct messages both users have equal rights. */
function requireEqualOrManager(
  principal: Principal,
  { type }: ConversationRow,
  own: LockedConversation['own'],
): void {
  if (type !== 'direct_message') requireManager(principal, own);
}

function requireGroupOf({ type }: ConversationRow, param: string): void {
  if (type !== 'group') throw invalid(param, 'Only groups have a title and an assignee.');
}

/**
 * Returns a user that can read the conversation, or a group. Throws `resource_not_found` or
 * `validation_failed`.
 */
async function findAssignee(
  tx: Tx,
  principal: Principal,
  conversation: ConversationRow,
  id: string,
): Promise<NamedActor> {
  const actor = await findAssignable(tx, principal, id);
  if (actor.type === 'user' && !(await isReader(tx, actor.id, conversation.id))) {
    throw invalid('assignee_id', 'The user cannot read the conversation. Add it as a participant first.');
  }
  return actor;
}

/** Returns the ref of the topic. Throws `resource_not_found` (param topic.id) if there is none. */
export async function findTopic(tx: Tx, principal: Principal, topic: EntityRef): Promise<EntityRef> {
  const found = await readEntities(tx, principal.accountId, [topic], acquainted(principal));
  const resource = found.get(refKey(topic));
  if (resource !== undefined) return { type: resource.type, id: resource.id };
  throw notFound('resource', 'topic.id');
}
