import { domainOf } from '../mailboxes/mailbox-address.ts';
import { isSealed, type MailKey, sealOf } from './mail-key.ts';
import { hexOf, mailIdOf } from './message-ids.ts';

/**
 * Returns the return path of a mail: an address below that of its inbox, by which a bounce names
 * the mail. If it would be longer than mail servers must accept (RFC 5321, 4.5.3.1.1), returns the
 * inbox's address; the bounce is then recognized by the Message-ID that it returns.
 */
export function makeBounceAddress(key: MailKey, mailId: string, mailboxAddress: string): string {
  const address = mailboxAddress.toLowerCase();
  const local = address.slice(0, address.lastIndexOf('@'));
  const tagged = `${local}+b-${hexOf(mailId)}-${sealOf(key, 'bounce', mailId)}`;
  return `${tagged.length > MAX_LOCAL ? local : tagged}@${domainOf(address)}`;
}

const MAX_LOCAL = 64;

/** Returns the mail and the address of its inbox. Undefined for a foreign or changed address. */
export function readBounceAddress(
  key: MailKey,
  address: string,
): { readonly mailId: string; readonly mailboxAddress: string } | undefined {
  const [, local, hex, seal, domain] = BOUNCE.exec(address.trim().toLowerCase()) ?? [];
  if (local === undefined) return undefined;
  const mailId = mailIdOf(hex!);
  return isSealed(key, 'bounce', mailId, seal!)
    ? { mailId, mailboxAddress: `${local}@${domain}` }
    : undefined;
}

const BOUNCE = /^<?([^\s<>@]+)\+b-([0-9a-f]{24})-([0-9a-f]{16})@([^\s<>@]+?)>?$/;
