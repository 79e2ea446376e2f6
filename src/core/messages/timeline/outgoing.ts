import { unavailable } from '@parley/protocol/errors/errors.ts';
import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { ConversationAudience } from '@parley/protocol/resources/conversation.ts';
import type { TraceContext } from '@parley/protocol/traceparent.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { isUnavailable } from '../../../platform/db/connection/unavailable.ts';
import type { ConversationFacts } from '../../conversations/directory/directory.ts';
import type { CoreMetrics } from '../../metrics.ts';
import { presentAttachment } from '../../resources/attachment.ts';
import type { MessageRow, MessageWithParts } from '../../resources/message.ts';
import type { NotificationRow } from '../../resources/notification.ts';
import type { NewMessage } from '../rows/new-message.ts';
import type { InsertedMessage, NumberedMessage } from './insert-store.ts';
import type { Numbers } from './numbers.ts';
import { asNotifications } from './planned-notifications.ts';
import type { Timeline } from './timeline.ts';

/** A message to write, with facts for its event that the sender has read already. */
export interface Outgoing {
  readonly message: NewMessage;
  readonly sender: Actor | null;
  readonly audience: ConversationAudience;
  /** The facts with which notifications are planned. Without them, planning follows the commit. */
  readonly facts?: ConversationFacts;
  /** The trace of the request that sent it. */
  readonly trace?: TraceContext | undefined;
}

export interface Acknowledged {
  readonly row: MessageRow;
  /** Whether the message existed under the same client_message_id; `row` is then the original. */
  readonly resent: boolean;
}

/**
 * Creates the caller's answer from a message, with `tx` in the transaction of the message.
 * `isResend` says that the message was there under the same client_message_id.
 */
export type AnswerOf<Answer> = (row: MessageRow, tx?: Tx, isResend?: boolean) => Promise<Answer>;

/** The result of one committed statement. Its row `outboxId` is deleted after publication. */
export interface Committed {
  readonly outboxId: number;
  readonly messages: readonly CommittedMessage[];
}

/** The trace is unknown to a node that takes over its effects. */
export interface CommittedMessage extends MessageWithParts, Pick<Outgoing, 'audience' | 'trace'> {
  /** The version of the roster at the commit; another node that takes over uses the present one. */
  readonly rosterVersion: number;
  /** The notifications committed with it, or undefined if they follow the commit. */
  readonly notifications?: readonly NotificationRow[] | undefined;
  /** The person that approved it. */
  readonly by?: string | undefined;
}

/** The dependencies of both write paths. */
export interface WriteOptions {
  readonly database: Database;
  readonly numbers: Numbers;
  readonly timeline: Timeline;
  readonly metrics: CoreMetrics;
  /** False while this node may not take numbers (platform/db/connection/node-lock.ts). */
  readonly maySend: () => boolean;
  /**
   * Called in the order of commits, once for each statement, synchronously after the
   * acknowledgement. Resolves when the effects were made, or are left to a sweep of the outbox.
   */
  readonly onCommitted: (committed: Committed) => Promise<void>;
}

/**
 * How many numbers a message gets before it is refused. A number that conflicts with the unique key
 * is replaced; after so many conflicts, the counter itself must be wrong.
 */
export const MAX_NUMBERINGS = 6;

/** Combines a message with the result of its insert. */
export function asCommitted(
  { message, sender, audience, trace }: Outgoing,
  { sequence, plan }: Pick<NumberedMessage, 'sequence' | 'plan'>,
  inserted: InsertedMessage,
): CommittedMessage {
  const { attachments } = message;
  const { createdAt: at, rosterVersion } = inserted;
  // Field by field, because a copy that grows allocates six times as much.
  const row: MessageRow = {
    id: message.id,
    account_id: message.account_id,
    conversation_id: message.conversation_id,
    kind: message.kind,
    visibility: message.visibility,
    channel: message.channel,
    body: message.body,
    subject: message.subject,
    cc: message.cc,
    mentions: message.mentions,
    sender_id: message.sender_id,
    author_id: message.author_id,
    reply_to_id: message.reply_to_id,
    resource_type: message.resource_type,
    resource_id: message.resource_id,
    agent_run_id: message.agent_run_id,
    streaming_state: message.streaming_state,
    client_message_id: message.client_message_id,
    sequence,
    status: 'sent',
    email_status: null,
    has_attachments: attachments.length > 0,
    scheduled_at: null,
    edited_at: null,
    edited_by: null,
    deleted_at: null,
    redaction: null,
    created_at: at,
    updated_at: at,
    outcome: null,
    metadata: message.metadata ?? null,
    imported: null,
    incomplete: null,
    event: message.event ?? null,
    question: message.question ?? null,
  };
  return {
    row,
    sender,
    attachments: attachments.map(({ url, download_url, resource = null, ...attachment }) =>
      presentAttachment({
        ...attachment,
        resource,
        url: download_url ?? url,
        message_id: message.id,
        removed_at: null,
        created_at: at,
      }),
    ),
    audience,
    rosterVersion,
    notifications:
      plan?.rosterVersion === rosterVersion ? asNotifications(row, plan, inserted, at) : undefined,
    trace,
  };
}

/** Converts errors of an unavailable Postgres to ApiError `service_unavailable`. */
export function asUnavailable(error: unknown): unknown {
  return isUnavailable(error) ? unavailable('Messages cannot be accepted at the moment.', error) : error;
}
