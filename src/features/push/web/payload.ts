import { hash } from 'node:crypto';
import type { Pushed } from '../deliveries/channel.ts';
import { fitted } from '../deliveries/fitted.ts';

/** A notification and the browser that it is pushed to. */
export interface BrowserPush extends Pushed {
  readonly endpoint: string;
  readonly p256dh: string;
  readonly auth: string;
}

/** The payload for a service worker (docs/contract.md#web-push). */
export interface PushPayload {
  /** The tag in the browser, so that a notification that arrives twice is shown once. */
  readonly notification_id: string;
  readonly category: string;
  readonly title: string;
  readonly body: string | null;
  readonly priority: Pushed['priority'];
  readonly conversation_id: string | null;
  readonly message_id: string | null;
  /** The counts of the user's feed. */
  readonly unseen: number;
  readonly unread: number;
  readonly created_at: string;
}

/**
 * Push services take 4,096 bytes (RFC 8030, 7.2). The encryption needs 103 bytes: the header with
 * our key, the end of the padding, and the tag (RFC 8188).
 */
export const MAX_PAYLOAD_BYTES = 4_096 - 103;

/** Returns the payload as JSON. A text that is too long is cut at its end. */
export function payloadOf(row: Pushed): Buffer {
  const payload: PushPayload = {
    notification_id: row.id,
    category: row.category,
    title: row.title,
    body: row.body,
    priority: row.priority,
    conversation_id: row.conversation_id,
    message_id: row.message_id,
    unseen: row.unseen,
    unread: row.unread,
    created_at: row.created_at,
  };
  return fitted(payload, (cut) => Buffer.from(JSON.stringify(cut)), MAX_PAYLOAD_BYTES);
}

/**
 * Returns the topic of a push, or undefined if each push is delivered. A device that was offline
 * receives only the newest push of a topic. Push services can compare topics, so a topic reveals no
 * more than that.
 */
export function topicOf({ subscription_id, conversation_id }: Pushed): string | undefined {
  if (conversation_id === null) return undefined;
  // At most 32 characters of base64url (RFC 8030, 5.4).
  return hash('sha256', `${subscription_id} ${conversation_id}`, 'base64url').slice(0, 32);
}
