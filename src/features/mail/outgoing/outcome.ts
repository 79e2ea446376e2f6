import type { EmailRecipient, SentEmailStatus } from '@parley/protocol/resources/email.ts';
import { enqueueChanged } from '../../../core/events/changes.ts';
import { notifyUsers } from '../../../core/notifications/feed/notify-users.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { lockOutgoing, OUTGOING, type OutgoingRow, readFailed, setEmailStatus } from './outgoing-store.ts';

/** The outcome of an outgoing mail, at some of its recipients or as a whole. */
export interface MailOutcome {
  readonly mailId: string;
  /** The recipients whose state changed. Addresses that the mail does not have are ignored. */
  readonly recipients?: readonly Pick<EmailRecipient, 'address' | 'status' | 'code'>[];
  /** A code for the reason, or null if there is none. */
  readonly reason: string | null;
  /** The status of the whole mail. By default it follows from the recipients' statuses. */
  readonly status?: 'canceled' | 'failed' | 'deferred';
  /** Milliseconds until the next try; by default null: the mail is not tried again. */
  readonly nextTryMs?: number | null;
  /** The number of the try. If another node has begun a later try, only a success counts. */
  readonly attempt?: number;
}

/**
 * Changes the outcome of a mail, which happens only here: its row, the `email_status` of its
 * message, the event for its readers, and a notification (`email.failed`) once the mail bounced or
 * failed. Returns the new status, or undefined if there is no such outgoing mail or the outcome
 * comes too late. The message is locked before the mail.
 */
export async function recordOutcome(
  tx: Tx,
  { mailId, recipients = [], reason, status, nextTryMs = null, attempt }: MailOutcome,
): Promise<SentEmailStatus | undefined> {
  const mail = await lockOutgoing(tx, mailId);
  if (mail === undefined) return undefined;
  const isLate = attempt !== undefined && attempt !== mail.attempts;
  if (isLate && !recipients.some((one) => one.status === 'sent')) return undefined;
  // Its message was deleted: it is not tried any more, and the state of its recipients is unknown.
  if (status === undefined && mail.recipients.length === 0) return undefined;
  const changes = new Map(recipients.map((one) => [one.address.toLowerCase(), one]));
  const after = mail.recipients.map((one) => {
    // A bounce may arrive before the outcome of its own try.
    const isKept = attempt !== undefined && one.status === 'bounced';
    const { status: state, code } = (isKept ? undefined : changes.get(one.address.toLowerCase())) ?? one;
    const isOpen = state === 'queued' || state === 'deferred';
    return { ...one, code, status: status === 'failed' && isOpen ? ('failed' as const) : state };
  });
  const next = status ?? statusOf(after);
  const outcome = { recipients: JSON.stringify(after), status: next, reason, due_in_ms: nextTryMs };
  const [settled] = await OUTGOING.settle(tx, [{ id: mailId, ...outcome }]);
  if (next === mail.status) return next;
  await publishStatus(tx, mail, next);
  if (next === 'bounced' || next === 'failed') await notify(tx, mail, next, settled!.updated_at);
  return next;
}

/**
 * Returns the state of a mail from its recipients' states. Copies count once the other recipients
 * have the mail, so that an author learns of a returned mail even while a copy is still tried.
 */
function statusOf(recipients: readonly Pick<EmailRecipient, 'kind' | 'status'>[]): SentEmailStatus {
  const status = stateOf(recipients.filter(({ kind }) => kind === 'to'));
  return status === 'sent' ? stateOf(recipients) : status;
}

/** Returns the first state that can still change, or else the worst final state. */
function stateOf(recipients: readonly Pick<EmailRecipient, 'status'>[]): SentEmailStatus {
  for (const status of ['deferred', 'queued', 'bounced', 'failed'] as const) {
    if (recipients.some((one) => one.status === status)) return status;
  }
  return 'sent';
}

/** Writes the new status of a mail into its message, if any, and publishes the change. */
export async function publishStatus(
  tx: Tx,
  { message_id: id, conversation_id: stream }: Pick<OutgoingRow, 'message_id' | 'conversation_id'>,
  status: SentEmailStatus,
): Promise<void> {
  if (id === null || stream === null || !(await setEmailStatus(tx, id, status))) return;
  await enqueueChanged(tx, [{ event: 'message.updated', id, stream }]);
}

/** Notifies the author, or the assignee if the author is no user. The text names no address. */
async function notify(
  tx: Tx,
  { id, account_id, message_id }: OutgoingRow,
  status: 'bounced' | 'failed',
  at: string,
): Promise<void> {
  const failed = message_id === null ? undefined : await readFailed(tx, message_id);
  if (failed === undefined || failed.recipient_id === null) return;
  await notifyUsers(tx, [failed.recipient_id], {
    account_id,
    category: 'email.failed',
    title: `Your mail${failed.title === null ? '' : ` in ${failed.title}`} ${ENDINGS[status]}`,
    body: null,
    priority: 'high',
    sender_id: null,
    sender_type: 'system',
    resource: { type: 'entity', id: failed.conversation_id },
    message_id,
    agent_run_id: null,
    cause: { key: `email failed ${id}`, at },
  });
}

const ENDINGS = { bounced: 'came back', failed: 'could not be sent' } as const;
