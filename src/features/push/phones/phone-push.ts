import type { ApnsEnvironment, PushPlatform } from '@parley/protocol/resources/push-app.ts';
import type { Pushed } from '../deliveries/channel.ts';

/** A notification and the phone that it is pushed to. */
export interface PhonePush extends Pushed {
  readonly app_id: string;
  readonly revision: number;
  readonly platform: PushPlatform;
  /** The project at Google, or the topic at Apple. */
  readonly identifier: string;
  readonly environment: ApnsEnvironment | null;
  readonly origin: string;
  readonly token: string;
  /** Whether the texts may leave: the account wants it, and nothing about them is confidential. */
  readonly shows_content: boolean;
  readonly sender_name: string | null;
  /** The notifications to take away; null for a push that shows one. */
  readonly removed_ids: readonly string[] | null;
}

/** A request to a service. */
export interface PhoneRequest {
  readonly url: URL;
  /** Default: HTTP/1.1. */
  readonly version?: 'HTTP/2';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

/** What an app gets beside what its phone shows (docs/contract.md#phones). Texts alone: FCM. */
type PhoneData = Readonly<Record<string, string>>;

/** The texts that a phone shows. */
export interface PhoneTexts {
  readonly title: string;
  readonly body: string | null;
}

/**
 * Returns the texts of a push: those of the notification, or without `shows_content` who it is from
 * and how many wait. Google and Apple can read them.
 */
export function textsOf({ title, body, shows_content, sender_name, unread }: PhonePush): PhoneTexts {
  if (shows_content) return { title, body };
  const waiting = unread === 1 ? '1 unread notification' : `${unread} unread notifications`;
  return { title: sender_name ?? 'New notification', body: waiting };
}

/** Returns what the app gets: ids and counts, never a text. */
export function dataOf(row: PhonePush): PhoneData {
  const counts = { unseen: String(row.unseen), unread: String(row.unread) };
  const { removed_ids: removed } = row;
  if (removed !== null) return { type: 'removed', notification_ids: removed.join(','), ...counts };
  return {
    type: 'notification',
    notification_id: row.id,
    category: row.category,
    ...(row.conversation_id !== null && { conversation_id: row.conversation_id }),
    ...(row.message_id !== null && { message_id: row.message_id }),
    ...counts,
  };
}

/** Most notifications that one push takes away: their ids fill half of the 4 KB of a push. */
export const MAX_REMOVED = 60;

/** Bytes that both services take (Apple: 4,096; FCM: 4,096 of texts and data). */
export const MAX_PUSH_BYTES = 4_000;

/**
 * Returns the key under which a phone shows one push alone: the newest of each conversation. At
 * most 64 bytes (Apple).
 */
export function collapseKeyOf({ conversation_id, id }: PhonePush): string {
  return conversation_id ?? id;
}
