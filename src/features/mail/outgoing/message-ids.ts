import { ID_PREFIXES } from '@parley/protocol/ids.ts';
import { isSealed, type MailKey, sealOf } from './mail-key.ts';

/** The mail that one of our Message-IDs names. */
export interface NamedMail {
  /** In lower case if a mail server has changed it; the row of the mail has the original. */
  readonly conversationId: string;
  readonly mailId: string;
}

/**
 * Returns the Message-ID of an outgoing mail, without brackets. It carries the conversation and the
 * mail under a seal, so that an answer finds its case. `domain` is the inbox's.
 */
export function makeMessageId(key: MailKey, { conversationId, mailId }: NamedMail, domain: string): string {
  const seal = sealOf(key, 'message-id', `${conversationId} ${mailId}`);
  return `c.${conversationId}.${hexOf(mailId)}.${seal}@${domain.toLowerCase()}`;
}

/** Reads a Message-ID, with or without brackets. Returns undefined for a foreign or changed id. */
export function readMessageId(key: MailKey, text: string): NamedMail | undefined {
  const [, conversationId, hex, seal] = MESSAGE_ID.exec(text) ?? [];
  if (conversationId === undefined) return undefined;
  const mailId = mailIdOf(hex!);
  return isSealed(key, 'message-id', `${conversationId} ${mailId}`, seal!)
    ? { conversationId, mailId }
    : undefined;
}

/** Returns the part of a mail's id that is used in addresses: 24 hexadecimal digits. */
export function hexOf(mailId: string): string {
  return mailId.slice(ID_PREFIXES.mail.length + 1);
}

export function mailIdOf(hex: string): string {
  return `${ID_PREFIXES.mail}_${hex.toLowerCase()}`;
}

const MESSAGE_ID = /^\s*<?c\.(cnv_[0-9a-z]{1,40})\.([0-9a-f]{24})\.([0-9a-f]{16})@[^\s<>@]+>?\s*$/i;
