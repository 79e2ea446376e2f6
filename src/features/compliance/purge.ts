import { forgetAnswers } from '../../api/access/idempotency.ts';
import { withdrawUploads } from '../../core/attachments/uploads.ts';
import { enqueuePurged } from '../../core/conversations/outbox-topics.ts';
import { allHoldings } from '../../core/features/all-holdings.ts';
import {
  deleteOutside,
  deletePrefix,
  readBatchEnd,
  readOutsideIds,
} from '../../core/messages/removal/purge-store.ts';
import type { PurgedMessage, RemovedRows } from '../../core/resources/holdings.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { removeRowsOf } from './remove-rows.ts';

/** The numbers of rows and files that a purge removed. */
export type Purged = Readonly<Record<'messages' | 'files' | 'notifications' | 'runs', number>>;

/** The most messages that one transaction purges. Callers use several transactions for more. */
export const PURGE_BATCH = 500;

export const NOTHING_PURGED: Purged = { messages: 0, files: 0, notifications: 0, runs: 0 };

/**
 * Purges the messages of a conversation up to this settled number: rows, revisions, files, mails,
 * notifications, and quotations in runs of agents. Subscribers receive `messages.purged`. Returns
 * undefined and removes nothing if the conversation is under legal hold.
 */
export async function purgePrefix(
  tx: Tx,
  conversationId: string,
  throughSequence: number,
): Promise<Purged | undefined> {
  const messages = await deletePrefix(tx, conversationId, throughSequence);
  if (messages === undefined) return undefined;
  await enqueuePurged(tx, conversationId);
  return purgePartsOf(tx, conversationId, messages);
}

/** Purges drafts and unsent scheduled messages of a conversation, unless it is under legal hold. */
export async function purgeOutside(
  tx: Tx,
  conversationId: string,
  messageIds: readonly string[],
): Promise<Purged> {
  return purgePartsOf(tx, conversationId, await deleteOutside(tx, conversationId, messageIds));
}

/**
 * Purges one batch of a conversation, in and outside its timeline. `more` is true if another
 * transaction is needed; otherwise only the conversation, its participants and its highest number
 * are left. Returns undefined if the conversation is under legal hold.
 */
export async function purgeConversation(
  tx: Tx,
  conversationId: string,
): Promise<{ purged: Purged; more: boolean } | undefined> {
  const through = await readBatchEnd(tx, conversationId, PURGE_BATCH);
  // Called even if no message is left, because it locks the conversation against a hold.
  const sent = await purgePrefix(tx, conversationId, through ?? 0);
  if (sent === undefined) return undefined;
  if (through !== undefined) return { purged: sent, more: true };
  const outside = await readOutsideIds(tx, conversationId, PURGE_BATCH);
  if (outside.length > 0) return { purged: await purgeOutside(tx, conversationId, outside), more: true };
  for (const holdings of allHoldings(tx)) {
    const removed = await holdings.purgeConversation?.(tx, conversationId, PURGE_BATCH);
    if (removed !== undefined && removed.rows > 0) return { purged: await noted(tx, removed), more: true };
  }
  return { purged: NOTHING_PURGED, more: false };
}

/** Withdraws the files of removed rows. */
export async function noted(
  tx: Tx,
  { runs = 0, notifications = 0, keys = [] }: RemovedRows,
): Promise<Purged> {
  await withdrawUploads(tx, keys);
  return { ...NOTHING_PURGED, files: keys.length, notifications, runs };
}

export function addPurged(one: Purged, other: Purged): Purged {
  return {
    messages: one.messages + other.messages,
    files: one.files + other.files,
    notifications: one.notifications + other.notifications,
    runs: one.runs + other.runs,
  };
}

async function purgePartsOf(
  tx: Tx,
  conversationId: string,
  messages: readonly PurgedMessage[],
): Promise<Purged> {
  if (messages.length === 0) return NOTHING_PURGED;
  const ids = messages.map(({ id }) => id);
  await forgetAnswers(tx, ids);
  let purged: Purged = { ...NOTHING_PURGED, messages: messages.length };
  for (const holdings of allHoldings(tx)) {
    const keys = await removeRowsOf(tx, holdings, 'message', ids);
    purged = addPurged(purged, await noted(tx, { rows: 0, keys }));
    const removed = await holdings.purgeMessages?.(tx, conversationId, messages);
    if (removed !== undefined) purged = addPurged(purged, await noted(tx, removed));
  }
  return purged;
}
