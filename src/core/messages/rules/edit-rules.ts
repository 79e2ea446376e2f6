import { ApiError, invalid } from '@parley/protocol/errors/errors.ts';
import type { EditMessageBody } from '@parley/protocol/resources/chat-message.ts';
import { requirePermission } from '../../../api/access/authorize.ts';
import { type Principal, seesWholeAccount } from '../../../api/access/principal.ts';
import { requireSender, requireWriter } from '../../conversations/directory/access.ts';
import { isBridged } from '../../conversations/directory/bridge.ts';
import type { ConversationFacts } from '../../conversations/directory/directory.ts';
import type { MessageRow } from '../../resources/message.ts';
import type { Readable } from './readable-message.ts';
import { checkMentions, notMail, requireSendExternal } from './send-rules.ts';

/** A message that the caller may read, and the caller. */
export interface EditRequest extends Readable {
  readonly principal: Principal;
}

/**
 * Checks whether the caller may make this edit (docs/contract.md#editing-and-deleting): authors may
 * edit what they sent or scheduled, and everyone who may send here may edit an open draft. Metadata
 * alone may also be changed by the actors that may take the message back. Throws ApiError
 * `insufficient_permissions`, `resource_gone`, `resource_conflict`, or an error of a field.
 */
export function checkEdit(
  principal: Principal,
  facts: ConversationFacts,
  row: MessageRow,
  body: EditMessageBody,
): void {
  requireSender(principal, facts);
  requireThere(row);
  const isOfMetadata = body.metadata !== undefined && Object.keys(body).length === 1;
  if (isOfMetadata && row.status !== 'draft') requireAuthority(principal, facts, row);
  else if (row.author_id !== principal.actor.id) {
    requirePermission(principal, 'messaging:update');
    if (row.status !== 'draft') {
      throw new ApiError('insufficient_permissions', 'Only the author of a message can edit it.');
    }
  }
  if (row.status !== 'sent' && row.status !== 'draft' && row.status !== 'scheduled') {
    throw new ApiError('resource_conflict', `A message that is ${row.status} cannot be edited.`);
  }
  requireFinished(row);
  if (row.visibility === 'external' && row.status !== 'draft') {
    requireSendExternal(principal, 'change what customers read');
  }
  if (!isOfMetadata) checkFields(facts, row, body);
}

/**
 * Checks whether the caller may delete the message: as its author, owner or admin of the
 * conversation, or admin or key of the account. An unsent message is rejected or canceled instead.
 * Throws like checkEdit.
 */
export function checkDelete(principal: Principal, facts: ConversationFacts, row: MessageRow): void {
  requireWriter(facts.members.get(principal.actor.id));
  requireThere(row);
  requireAuthority(principal, facts, row);
  requireSent(row, 'cannot be deleted.');
  requireFinished(row);
}

/**
 * Checks whether the message is sent and has its content, so that it may be redacted. An unsent
 * message is rejected or canceled instead. Throws like checkEdit.
 */
export function checkRedact(principal: Principal, facts: ConversationFacts, row: MessageRow): void {
  requireWriter(facts.members.get(principal.actor.id));
  requireThere(row);
  requireSent(row, 'cannot be redacted.');
  requireFinished(row);
}

/**
 * Requires the author of a message, or a caller that may take back messages of others: with
 * messaging:update, as owner or admin of the conversation or with access to the whole account.
 * Throws ApiError `insufficient_permissions`.
 */
export function requireAuthority(principal: Principal, facts: ConversationFacts, row: MessageRow): void {
  if (row.author_id === principal.actor.id) return;
  requirePermission(principal, 'messaging:update');
  const role = facts.members.get(principal.actor.id)?.role;
  const runsConversation = role === 'owner' || role === 'admin' || seesWholeAccount(principal);
  if (runsConversation) return;
  throw new ApiError(
    'insufficient_permissions',
    'Only the author of a message and the owners and admins of its conversation can take it back or change its metadata.',
  );
}

/** Throws ApiError `resource_gone` for a deleted message, which cannot change any more. */
export function requireThere({ deleted_at }: Pick<MessageRow, 'deleted_at'>, param = 'id'): void {
  if (deleted_at !== null) throw messageGone(param);
}

export function messageGone(param: string): ApiError {
  return new ApiError('resource_gone', 'The message was deleted.', { param });
}

/** Throws ApiError `resource_conflict` for a message outside the timeline, and says `why`. */
export function requireSent({ status }: MessageRow, why: string): void {
  if (status !== 'sent') throw new ApiError('resource_conflict', `A message that is ${status} ${why}`);
}

/** Throws ApiError `resource_conflict` while a message streams: only its agent may write it. */
export function requireFinished({ streaming_state }: MessageRow): void {
  if (streaming_state !== 'streaming') return;
  throw new ApiError(
    'resource_conflict',
    'The message is still being written. Wait for its end, or cancel it.',
  );
}

function checkFields(
  facts: ConversationFacts,
  row: MessageRow,
  { body, subject, cc, scheduled_at, mentions, attachments }: EditMessageBody,
): void {
  const hasAttachments = attachments === undefined ? row.has_attachments : attachments.length > 0;
  if (!(body ?? row.body) && !hasAttachments && row.resource_id === null) {
    throw new ApiError(
      'missing_field',
      'A message without attachments and without a resource needs a body.',
      { param: 'body' },
    );
  }
  checkMentions(mentions ?? [], facts);
  const isMail = row.visibility === 'external' && row.channel === 'email' && isBridged(facts);
  if (subject && !isMail) throw notMail('subject');
  if (cc?.length && !isMail) throw notMail('cc');
  requireUnsent(row, 'subject', subject);
  requireUnsent(row, 'cc', cc);
  if (scheduled_at === undefined || row.status === 'scheduled') return;
  if (row.status === 'draft')
    throw invalid('scheduled_at', 'A draft cannot be scheduled. It is sent when it is approved.');
  throw new ApiError('resource_conflict', 'The message has been sent and cannot be scheduled.', {
    param: 'scheduled_at',
  });
}

/** Throws for the subject and recipients of a sent reply. */
function requireUnsent({ visibility, status }: MessageRow, param: 'subject' | 'cc', value: unknown): void {
  if (value === undefined || visibility !== 'external' || status !== 'sent') return;
  throw new ApiError('resource_conflict', 'The subject and cc of a reply cannot change after it was sent.', {
    param,
  });
}
