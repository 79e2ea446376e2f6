import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { EditMessageBody } from '@parley/protocol/resources/chat-message.ts';
import type { Question } from '@parley/protocol/resources/question.ts';
import { sql } from 'kysely';
import type { Principal } from '../../../api/access/principal.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { enqueue } from '../../../platform/db/queue/outbox.ts';
import { auditMessage } from '../../audit/audit.ts';
import type { ConversationFacts } from '../../conversations/directory/directory.ts';
import { requireComing } from '../../conversations/participants/own-state.ts';
import { lockAgainstHold, lockConversation } from '../../conversations/rows/conversation-store.ts';
import { enqueueRowsChanged } from '../../events/changes.ts';
import type { MessageRow } from '../../resources/message.ts';
import { mergedMetadata } from '../../resources/metadata.ts';
import { MESSAGE_EDITED } from '../outbox-topics.ts';
import { withdrawContent } from '../removal/withdraw-content.ts';
import { lockMessage, readAttachmentIds, updateMessage } from '../rows/message-store.ts';
import { keepRevision } from '../rows/revision-store.ts';
import { outsideUpdateOf } from '../rows/waiting-store.ts';
import { checkDelete, checkEdit, type EditRequest, requireAuthority } from '../rules/edit-rules.ts';
import { allMentions, mentionedActor, namedActors } from '../rules/mentions.ts';
import { cancelScheduled, reschedule } from '../schedules/scheduled.ts';
import { uniqueAddresses } from '../sending/compose.ts';
import {
  type EditedAttachments,
  NOT_REPLACED,
  readEditedInputs,
  replaceAttachments,
} from './edited-attachments.ts';

/**
 * Edits a message. Absent fields of the body stay, "" and [] clear. An edit that changes nothing
 * leaves no trace. On legal hold, the previous content is kept as a revision
 * (docs/contract.md#legal-hold). A change of metadata alone is published, but is no edit
 * (docs/contract.md#metadata). Throws ApiError.
 */
export async function editMessage(
  tx: Tx,
  { principal, facts, row }: EditRequest,
  body: EditMessageBody,
  attachments?: EditedAttachments,
): Promise<MessageRow> {
  const held = await lockAgainstHold(tx, row.conversation_id);
  let current = await lockMessage(tx, row);
  checkEdit(principal, facts, current, body);
  const content = changedContent(current, body, facts);
  const metadata = mergedMetadata(current.metadata, body.metadata);
  // The ids are read before the attachments are replaced.
  const attachmentIds = held ? await readAttachmentIds(tx, current) : [];
  const { isReplaced, metadataKeys } =
    attachments === undefined ? NOT_REPLACED : await replaceAttachments(tx, current, attachments, held);
  const changedKeys = [...new Set([...(metadata?.keys ?? []), ...metadataKeys])].sort();
  const isEdit = content !== undefined || isReplaced;
  if (isEdit || changedKeys.length > 0) {
    const before = current;
    await auditEdit(tx, principal, before, held, {
      fields: [
        ...Object.keys(content ?? {}),
        ...(isReplaced || metadataKeys.length > 0 ? ['attachments'] : []),
        ...(metadata === undefined ? [] : ['metadata']),
      ],
      ...(changedKeys.length > 0 && { metadata_keys: changedKeys }),
      ...(held && isEdit && { revision: await keepRevision(tx, principal, before, attachmentIds) }),
    });
    current = await updateMessage(tx, before, {
      ...content,
      // An edited text of an agent counts as whole: the editor has seen to that.
      ...(content?.body !== undefined && content.body !== before.body && { incomplete: null }),
      ...(isReplaced && { has_attachments: attachments!.length > 0 }),
      ...(metadata !== undefined && { metadata: metadata.column }),
      ...(isEdit && before.question !== null && { question: revisedQuestion(before.question) }),
      ...(isEdit && { edited_at: sql<string>`clock_timestamp()`, edited_by: principal.actor.id }),
    });
    const event = current.status === 'sent' ? 'message.updated' : outsideUpdateOf(current);
    await enqueueRowsChanged(tx, event, [current]);
    if (current.status === 'sent' && isEdit) {
      const { id: message_id, conversation_id } = current;
      const mentions = differenceOf(before.mentions, current.mentions);
      await enqueue(tx, MESSAGE_EDITED, { message_id, conversation_id, mentions });
    }
  }
  const { scheduled_at: at } = body;
  if (at === undefined) return current;
  const moved = await reschedule(tx, current, at);
  if (moved !== current) await auditEdit(tx, principal, moved, held, { fields: ['scheduled_at'] });
  return moved;
}

/** Replaces the message by a tombstone, which keeps its place in the timeline. Throws ApiError. */
export async function deleteMessage(tx: Tx, { principal, facts, row }: EditRequest): Promise<MessageRow> {
  const held = await lockAgainstHold(tx, row.conversation_id);
  const current = await lockMessage(tx, row);
  checkDelete(principal, facts, current);
  if (held)
    throw new ApiError(
      'resource_conflict',
      'Messages cannot be deleted while their conversation is under legal hold. Release the hold first.',
    );
  const tombstone = await withdrawContent(tx, current);
  await auditMessage(tx, principal.actor.id, current, 'message.deleted');
  return tombstone;
}

/** Cancels a scheduled message. Throws ApiError. */
export async function cancelMessage(tx: Tx, { principal, facts, row }: EditRequest): Promise<MessageRow> {
  requireAuthority(principal, facts, row);
  // The conversation is locked before the message, in the order of a delivery.
  await lockConversation(tx, row.conversation_id);
  const current = await lockMessage(tx, row);
  if (current.status === 'canceled') return current;
  const canceled = await cancelScheduled(tx, current);
  await auditMessage(tx, principal.actor.id, row, 'message.canceled');
  return canceled;
}

type Content = Partial<Pick<MessageRow, 'body' | 'subject' | 'cc' | 'mentions'>>;

/** Returns undefined if the edit changes nothing. */
function changedContent(
  row: MessageRow,
  { body, subject, cc, mentions }: EditMessageBody,
  facts: ConversationFacts,
): Content | undefined {
  // Mentions of a sent message change only if the edit states them: notifications exist already.
  const isMentioning = mentions !== undefined || (row.status !== 'sent' && body !== undefined);
  const listed = mentions ?? row.mentions ?? [];
  const named = isMentioning ? editedMentions(row, facts, body, listed) : row.mentions && [...row.mentions];
  const content: Content = {
    ...(body !== undefined && { body: body || null }),
    ...(subject !== undefined && { subject: subject || null }),
    // A mail with empty copies goes to none; without stated copies, it goes to those of the thread.
    ...(cc !== undefined && { cc: cc.length === 0 && row.channel !== 'email' ? null : uniqueAddresses(cc) }),
    ...(differenceOf(row.mentions, named).length > 0 && { mentions: named }),
  };
  const changes = (Object.keys(content) as (keyof Content)[]).some(
    (name) => JSON.stringify(content[name]) !== JSON.stringify(row[name]),
  );
  return changes ? content : undefined;
}

/**
 * Returns the mentions after an edit. A sent message may name participants that it does not
 * mention, as the text that it forwards does: an edit that keeps the names mentions none of them.
 */
function editedMentions(
  { status, author_id, body: before, mentions }: MessageRow,
  facts: ConversationFacts,
  body: string | undefined,
  listed: readonly string[],
): string[] | null {
  const named = allMentions(facts, author_id, body ?? before, listed);
  if (status !== 'sent' || named === null) return named;
  const passed = new Set(namedActors(facts, author_id, before));
  for (const id of [...(mentions ?? []), ...listed.map((id) => mentionedActor(id, facts))]) passed.delete(id);
  const kept = named.filter((id) => !passed.has(id));
  return kept.length === 0 ? null : kept;
}

/** Returns the ids that are in exactly one of the two lists. */
function differenceOf(one: readonly string[] | null, other: readonly string[] | null): string[] {
  const [ids, others] = [one ?? [], other ?? []];
  return [...ids.filter((id) => !others.includes(id)), ...others.filter((id) => !ids.includes(id))];
}

/** Returns the question for an update: who answers must have seen what the message says now. */
function revisedQuestion(question: Question): string {
  const { revision, status } = question;
  return JSON.stringify({ ...question, revision: status === 'open' ? revision + 1 : revision });
}

/** Audits edits of sent messages only on legal hold: all participants receive the event anyway. */
async function auditEdit(
  tx: Tx,
  { actor }: Principal,
  row: MessageRow,
  held: boolean,
  details: {
    readonly fields: readonly string[];
    readonly metadata_keys?: readonly string[];
    readonly revision?: number;
  },
): Promise<void> {
  const { fields: _, ...ofSent } = details;
  if (row.status === 'draft') await auditMessage(tx, actor.id, row, 'draft.edited', details);
  else if (row.status === 'scheduled') await auditMessage(tx, actor.id, row, 'scheduled.edited', details);
  else if (held) await auditMessage(tx, actor.id, row, 'message.edited', ofSent);
}

/**
 * Checks what depends only on the body (docs/contract.md#editing-and-deleting). A past time is
 * refused unless the message has that time already, which is no change. Throws ApiError.
 */
export function checkEditBody(
  db: Db,
  messageId: string,
  { attachments, scheduled_at }: EditMessageBody,
): Promise<void> | void {
  if (attachments !== undefined) readEditedInputs(attachments);
  if (scheduled_at === undefined) return;
  const findSame = async () => (await db.query(HAS_TIME, messageId, scheduled_at))[0];
  return requireComing(db, scheduled_at, 'scheduled_at', findSame);
}

const HAS_TIME = statement<[messageId: string, scheduledAt: string]>('message-has-time')`
    SELECT FROM messages WHERE id = $1 AND status = 'scheduled' AND scheduled_at = $2::timestamptz`;
