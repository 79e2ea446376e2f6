import type { AttachmentInput, SendMessageBody } from '@parley/protocol/resources/chat-message.ts';
import type { Audience, Writing } from '../session/kept-writing.ts';
import { mentionsIn } from './mentions.ts';

/** The circumstances of sending a text. */
export interface Sending {
  readonly writing: Writing;
  /** Null in a conversation without a customer, where there is no choice. */
  readonly audience: Audience | null;
  /** Whether replies of the case leave as mail. */
  readonly isMail: boolean;
  readonly attachments: readonly AttachmentInput[];
  /** Only members can be mentioned. */
  readonly memberIds: ReadonlySet<string>;
  readonly replyTo?: string | undefined;
  /** The time of sending (RFC 3339); now by default. */
  readonly at?: string | undefined;
  /** A reply that another person approves. */
  readonly isDraft?: boolean;
}

/** Returns the message, or null if there is nothing to send. */
export function messageOf(sending: Sending): SendMessageBody | null {
  const { writing, audience, isMail, attachments, memberIds, replyTo, at, isDraft = false } = sending;
  const { text } = writing;
  if (text.trim() === '' && attachments.length === 0) return null;
  const mentions = mentionsIn(text, writing.mentions).filter(({ id }) => memberIds.has(id));
  const isReply = audience === 'customer';
  return {
    ...(text.trim() !== '' && { body: text.trim() }),
    ...(attachments.length > 0 && { attachments: [...attachments] }),
    ...(mentions.length > 0 && { mentions: mentions.map(({ id }) => id) }),
    ...(audience !== null && !isDraft && { audience }),
    ...(isDraft && { mode: 'draft', channel: isMail ? 'email' : 'message' }),
    ...(isReply && isMail && mailOf(writing)),
    ...(replyTo !== undefined && { reply_to_message_id: replyTo }),
    ...(at !== undefined && { scheduled_at: at }),
  };
}

/** Returns the fields of a mail beside its text. The server fills fields that nobody changed. */
export function mailOf({ subject, cc }: Pick<Writing, 'subject' | 'cc'>): {
  subject?: string;
  cc?: string[];
} {
  return {
    ...(subject !== undefined && subject.trim() !== '' && { subject: subject.trim() }),
    ...(cc !== undefined && { cc: addressesOf(cc) }),
  };
}

/** Returns the addresses of a field, between commas, semicolons or spaces. */
function addressesOf(text: string): string[] {
  return text.split(/[\s,;]+/).filter((address) => address !== '');
}
