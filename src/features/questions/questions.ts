import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { AnswerQuestionBody, Question } from '@parley/protocol/resources/question.ts';
import { claim } from '@parley/protocol/states/claim.ts';
import { QUESTION_MOVES } from '@parley/protocol/states/question-states.ts';
import type { Principal } from '../../api/access/principal.ts';
import { auditMessage } from '../../core/audit/audit.ts';
import { moveWorkflow } from '../../core/conversations/cases/workflow.ts';
import { conversationGone, requireWriter } from '../../core/conversations/directory/access.ts';
import { lockConversation } from '../../core/conversations/rows/conversation-store.ts';
import { enqueueRowsChanged } from '../../core/events/changes.ts';
import { lockMessage, updateMessage } from '../../core/messages/rows/message-store.ts';
import { requireAuthority, requireThere } from '../../core/messages/rules/edit-rules.ts';
import type { Readable } from '../../core/messages/rules/readable-message.ts';
import { requireActive } from '../../core/messages/timeline/external-message.ts';
import type { MessageKey, MessageRow } from '../../core/resources/message.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { enqueue } from '../../platform/db/queue/outbox.ts';
import { checkAnswer, requireAnswerer, requireOpenPlace } from './answer-rules.ts';
import { QUESTION_ENDED } from './outbox-topics.ts';
import { readWaiting, writeEnd } from './question-store.ts';

/**
 * Answer Question (docs/contract.md#questions): once, for the revision that the caller was shown,
 * whichever nodes are asked at the same moment. Throws ApiError.
 */
export async function answerQuestion(
  tx: Tx,
  principal: Principal,
  found: Readable,
  body: AnswerQuestionBody,
): Promise<MessageRow> {
  // A customer's answer moves the case. The conversation is locked before its message.
  if (principal.customer) await lockConversation(tx, found.row.conversation_id);
  const { row, question } = await lockQuestion(tx, found);
  requireAnswerer(principal, found, question);
  const { status: conversationStatus, deletedAt: deleted_at } = found.facts;
  requireActive({ status: conversationStatus, deleted_at });
  requireOpenPlace(principal, found);
  const { is_overdue: isOverdue, now } = await readWaiting(tx, row.id);
  const { revision: version, status: before } = question;
  const status = claim(
    QUESTION_MOVES,
    'answer',
    { status: before, isOverdue, version },
    { seen: { version: body.revision, param: 'revision', noun: 'question' } },
  );
  const by = principal.actor.id;
  const answer = { by, at: now, revision: version, ...checkAnswer(question, body) };
  const answered = await end(tx, row, { ...question, status, answer }, now, by);
  if (principal.customer) {
    const { id, accountId: account_id, audience } = found.facts;
    await moveWorkflow(tx, { id, account_id, audience }, 'customer_wrote', null, now);
  }
  await auditMessage(tx, by, row, 'message.question_answered', { revision: version });
  return answered;
}

/**
 * Withdraw Question: by its author, or those that may take the message back. No-op if it was
 * withdrawn. Throws ApiError.
 */
export async function withdrawQuestion(tx: Tx, principal: Principal, found: Readable): Promise<MessageRow> {
  requireWriter(found.facts.members.get(principal.actor.id));
  requireAuthority(principal, found.facts, found.row);
  const { row, question } = await lockQuestion(tx, found);
  if (question.status === 'withdrawn') return row;
  const { is_overdue: isOverdue, now } = await readWaiting(tx, row.id);
  const status = claim(QUESTION_MOVES, 'withdraw', { status: question.status, isOverdue });
  const by = principal.actor.id;
  const withdrawn = await end(tx, row, { ...question, status }, now, by);
  await auditMessage(tx, by, row, 'message.question_withdrawn');
  return withdrawn;
}

/** Ends the question of a message without an answer, if it is open. Returns whether it was. */
export async function endUnanswered(tx: Tx, key: MessageKey, move: 'expire' | 'withdraw'): Promise<boolean> {
  const row = await lockMessage(tx, key);
  const { question } = row;
  if (question?.status !== 'open') return false;
  const { is_overdue: isOverdue, now } = await readWaiting(tx, row.id);
  if (move === 'expire' && isOverdue !== true) return false;
  await end(tx, row, { ...question, status: QUESTION_MOVES[move].to }, now, null);
  return true;
}

/** Ends the open question of a locked message that has lost it. */
export async function endWithdrawn(tx: Tx, { question, ...row }: MessageRow): Promise<void> {
  if (question?.status !== 'open') return;
  const { now } = await readWaiting(tx, row.id);
  await announceEnd(tx, row, { status: QUESTION_MOVES.withdraw.to, ended_at: now, by: null });
}

async function lockQuestion(
  tx: Tx,
  { row, facts }: Readable,
): Promise<{ readonly row: MessageRow; readonly question: Question }> {
  if (facts.deletedAt !== null) throw conversationGone();
  const current = await lockMessage(tx, row);
  requireThere(current);
  if (current.question !== null) return { row: current, question: current.question };
  throw new ApiError('resource_conflict', 'The message asks nothing.');
}

async function end(
  tx: Tx,
  row: MessageRow,
  question: Question,
  ended_at: string,
  by: string | null,
): Promise<MessageRow> {
  const ended = await updateMessage(tx, row, { question: JSON.stringify({ ...question, ended_at }) });
  await enqueueRowsChanged(tx, 'message.updated', [ended]);
  await announceEnd(tx, row, { status: question.status as EndStatus, ended_at, by });
  return ended;
}

type EndStatus = Exclude<Question['status'], 'open'>;

async function announceEnd(
  tx: Tx,
  { id: message_id, conversation_id, account_id }: Pick<MessageRow, 'id' | 'conversation_id' | 'account_id'>,
  {
    status,
    ended_at,
    by,
  }: { readonly status: EndStatus; readonly ended_at: string; readonly by: string | null },
): Promise<void> {
  const answered_by = status === 'answered' ? by : null;
  const callback_url = await writeEnd(tx, message_id, { status, ended_at, answered_by });
  const ended = { account_id, conversation_id, message_id, status, ended_at, by, callback_url };
  await enqueue(tx, QUESTION_ENDED, ended);
}
