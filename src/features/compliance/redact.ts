import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { Principal } from '../../api/access/principal.ts';
import { rewriteStoredAnswers } from '../../api/access/stored-answers.ts';
import { enqueueRightsChanged } from '../../core/accounts/rights/rights-changed.ts';
import { auditMessage } from '../../core/audit/audit.ts';
import { lockAgainstHold } from '../../core/conversations/rows/conversation-store.ts';
import { allHoldings } from '../../core/features/all-holdings.ts';
import { withdrawContent } from '../../core/messages/removal/withdraw-content.ts';
import { lockMessage, readAttachmentIds } from '../../core/messages/rows/message-store.ts';
import { checkRedact, type EditRequest } from '../../core/messages/rules/edit-rules.ts';
import { enqueueUpdated } from '../../core/notifications/feed/mark.ts';
import { withdrawOfMessage } from '../../core/notifications/feed/withdraw-store.ts';
import type { Copies, WithdrawnTexts } from '../../core/resources/holdings.ts';
import type { MessageRow } from '../../core/resources/message.ts';
import { withoutContent } from '../../core/resources/without-content.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { addJob } from '../../platform/db/queue/queue.ts';
import { defineTopic } from '../../platform/db/queue/topic.ts';

/**
 * Redact Message (docs/contract.md#redaction): removes the content of a sent message everywhere, in
 * one transaction; a tombstone says by whom and why. Repeating it returns the tombstone. Throws
 * ApiError.
 */
export async function redactMessage(
  tx: Tx,
  { principal, facts, row }: EditRequest,
  reason: string,
): Promise<MessageRow> {
  const held = await lockAgainstHold(tx, row.conversation_id);
  const current = await lockMessage(tx, row);
  if (isRepeated(principal, current, reason)) return current;
  checkRedact(principal, facts, current);
  if (held) {
    throw new ApiError(
      'resource_conflict',
      'Messages cannot be redacted while their conversation is under legal hold. Release the hold first.',
    );
  }
  const { id, account_id: accountId, conversation_id: conversationId } = current;
  const by = principal.actor.id;
  const attachmentIds = current.has_attachments ? await readAttachmentIds(tx, current) : [];
  const copies: Copies[] = [];
  for (const holdings of allHoldings(tx)) copies.push((await holdings.copiesOf?.(tx, id)) ?? NO_COPIES);
  const copyIds = copies.flatMap(({ ids }) => ids);
  const tombstone = await withdrawContent(tx, current, { by, reason });
  const previews = await withdrawOfMessage(tx, id, conversationId);
  await enqueueUpdated(tx, previews);

  const ids = [id, ...attachmentIds, ...copyIds];
  const texts = storedFormsOf([current.body, current.subject, ...copies.flatMap(({ texts }) => texts)]);
  const content = { accountId, conversationId, ids, since: current.created_at };
  const withdrawn: WithdrawnTexts[] = [];
  for (const holdings of allHoldings(tx)) {
    withdrawn.push((await holdings.withdrawTexts?.(tx, content, texts)) ?? NOTHING_WITHDRAWN);
  }
  const notificationIds = withdrawn.flatMap((one) => one.notificationIds);

  const removed: RemovedContent = {
    account_id: accountId,
    ids: [id, ...copyIds, ...withdrawn.flatMap(({ ids }) => ids)],
    notification_ids: [...previews.map(({ id }) => id), ...notificationIds],
    since: current.created_at,
    open_runs: withdrawn.flatMap(({ openIds }) => openIds),
    by,
  };
  await removeFromAnswers(tx, removed);
  if (notificationIds.length > 0) await enqueueRightsChanged(tx, notificationIds);
  if (removed.open_runs.length > 0) await addJob(tx, FINISH_REDACTION, removed);
  await addJob(tx, FINISH_REDACTION, removed, { afterMs: REQUESTS_END_MS });
  await auditMessage(tx, by, current, 'message.redacted', { reason });
  return tombstone;
}

/** A job that removes texts written after a redaction by requests and runs begun before it. */
export const FINISH_REDACTION = defineTopic<RemovedContent>('finish_redaction');

interface RemovedContent {
  readonly account_id: string;
  /** The message, its mail, and the runs that contained its text. */
  readonly ids: readonly string[];
  readonly notification_ids: readonly string[];
  /** ISO 8601: when the message was written. */
  readonly since: string;
  /** Runs that may have read the message and had not ended: they are cancelled. */
  readonly open_runs: readonly string[];
  /** Actor id. */
  readonly by: string;
}

/** Finishes a redaction; may be repeated. Enqueues itself again while runs have not ended yet. */
export async function finishRedaction(database: Database, removed: RemovedContent): Promise<void> {
  await database.transaction(async (tx) => {
    await removeFromAnswers(tx, removed);
    let isUnderWay = false;
    for (const holdings of allHoldings(tx)) {
      if (await holdings.endReaders?.(tx, removed.by, removed.open_runs)) isUnderWay = true;
    }
    if (isUnderWay) await addJob(tx, FINISH_REDACTION, removed, { afterMs: RUNS_END_MS });
  });
  await database.transaction(async (tx) => {
    for (const holdings of allHoldings(tx)) {
      const changed = (await holdings.withdrawReaders?.(tx, removed.open_runs)) ?? [];
      if (changed.length > 0) await enqueueRightsChanged(tx, changed);
    }
  });
}

function isRepeated({ actor }: Principal, { redaction }: MessageRow, reason: string): boolean {
  return redaction !== null && redaction.by === actor.id && redaction.reason === reason;
}

function removeFromAnswers(
  tx: Tx,
  { account_id, ids, notification_ids: about, since }: RemovedContent,
): Promise<void> {
  const removed = new Set([...ids, ...about]);
  return rewriteStoredAnswers(tx, account_id, ids, (answer) => withoutContent(answer, removed), {
    about,
    since,
  });
}

/** Returns each text as it is, within JSON, and within the JSON text of a call's arguments. */
function storedFormsOf(texts: readonly (string | null)[]): string[] {
  const present = texts.filter((text) => text !== null && text !== '') as string[];
  return [...new Set(present.flatMap((text) => [text, quoted(text), quoted(quoted(text))]))];
}

function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

const NO_COPIES: Copies = { ids: [], texts: [] };
const NOTHING_WITHDRAWN: WithdrawnTexts = { ids: [], notificationIds: [], openIds: [] };

/** A node ends a cancelled run at once. */
const RUNS_END_MS = 2_000;

/** Requests with an Idempotency-Key hold it for 30 seconds; a flush of messages ends sooner. */
const REQUESTS_END_MS = 35_000;
