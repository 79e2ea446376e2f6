import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { EmailRecipient } from '@parley/protocol/resources/email.ts';
import type { Principal } from '../../../api/access/principal.ts';
import { audit } from '../../../core/audit/audit.ts';
import type { MessageRow } from '../../../core/resources/message.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { readMailOfMessage, type ShownMail } from '../mails/mail-store.ts';
import { publishStatus } from './outcome.ts';
import { recipientsOf } from './outgoing.ts';
import { lockOutgoing, requeue } from './outgoing-store.ts';
import { readReplyFacts } from './reply-store.ts';

/**
 * Sends the mail of a message again, under its Message-ID, to the recipients that do not have it.
 * If no recipient has it, decides them again, because the customer may have a new address. Throws
 * ApiError `resource_conflict` or `resource_gone`.
 */
export async function resendMail(
  tx: Tx,
  { actor }: Principal,
  { id: messageId, account_id: accountId, conversation_id: conversationId, deleted_at }: MessageRow,
  reason: 'no_transport' | null,
): Promise<ShownMail> {
  if (deleted_at !== null) throw new ApiError('resource_gone', 'The message was deleted.');
  const known = await readMailOfMessage(tx, messageId);
  const isLocked = known !== undefined && (await lockOutgoing(tx, known.id)) !== undefined;
  const mail = isLocked ? await readMailOfMessage(tx, messageId) : undefined;
  if (mail === undefined) throw conflict('The message was not sent by mail.');
  if (!ENDED.has(mail.status)) {
    throw conflict(
      `The mail is ${mail.status}. Only one that came back, failed or was canceled is sent again.`,
    );
  }
  // The outcome of a running try would count as the outcome of the new try.
  if (mail.next_try_at !== null) throw conflict('The mail is still tried for some of its recipients.');
  const facts = await readReplyFacts(tx, messageId, null);
  if (facts?.inbox_removed) throw conflict('The inbox of the case was deleted.');
  // An answer in a chat is mailed to the proven addresses of then (unread-mails.ts).
  const isKept = facts === undefined || mail.recipients.some(({ status }) => status === 'sent');
  const recipients = isKept
    ? mail.recipients.map(again)
    : recipientsOf({ ...facts, by_machine: mail.automatic });
  if (!recipients.some(({ kind }) => kind === 'to')) {
    throw conflict('No customer of the case has an address. Add one, and send the mail again.');
  }
  await requeue(tx, mail.id, recipients, reason);
  await publishStatus(tx, mail, 'queued');
  const details = { message_id: messageId };
  await audit(tx, { accountId, conversationId, actorId: actor.id, action: 'email.resent', details });
  return (await readMailOfMessage(tx, messageId))!;
}

const ENDED: ReadonlySet<string> = new Set(['bounced', 'failed', 'canceled']);

function again(recipient: EmailRecipient): EmailRecipient {
  return recipient.status === 'sent' ? recipient : { ...recipient, status: 'queued', code: null };
}

function conflict(message: string): ApiError {
  return new ApiError('resource_conflict', message);
}
