import type { MailboxRow } from '../../../core/resources/mailbox.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { readMailboxesByAddress } from '../mailboxes/mailbox-store.ts';
import { readBounceAddress } from '../outgoing/bounce-address.ts';
import type { MailKey } from '../outgoing/mail-key.ts';
import type { Envelope } from './envelope.ts';
import { headerValues } from './source-head.ts';

/**
 * Returns the inboxes of a mail. They are those of its envelope or, if the transport does not know
 * it, those that the delivering server noted in the headers, or else those in `To` and `Cc`. `head`
 * is the header section of the mail.
 */
export async function findMailboxes(
  db: Db,
  key: MailKey,
  { recipients }: Pick<Envelope, 'recipients'>,
  head: Buffer,
): Promise<MailboxRow[]> {
  if (recipients !== null) return mailboxesAt(db, key, recipients);
  for (const names of [DELIVERED, ADDRESSED]) {
    const values = names.flatMap((name) => headerValues(head, name));
    const found = await mailboxesAt(db, key, values.flatMap(addressesIn));
    if (found.length > 0) return found;
  }
  return [];
}

/**
 * Returns the inbox of each address, each once. An unknown address with `+…` counts without its
 * tag, unless it looks like an unsigned bounce address: mail to it answers no mail of ours.
 */
export async function mailboxesAt(db: Db, key: MailKey, addresses: readonly string[]): Promise<MailboxRow[]> {
  const names = addresses.slice(0, MAX_ADDRESSES).map((address) => namesOf(key, address.toLowerCase()));
  const asked = [...new Set(names.flat())];
  if (asked.length === 0) return [];
  const rows = await readMailboxesByAddress(db, asked);
  const byAddress = new Map(rows.map((row) => [row.address.toLowerCase(), row]));
  const found = names.flatMap((own) => own.flatMap((name) => byAddress.get(name) ?? []).slice(0, 1));
  return [...new Set(found)];
}

/** Returns the addresses of a header field, in lower case, without any names and comments. */
export function addressesIn(value: string): string[] {
  return unquoted(value)
    .split(/[,;]/)
    .flatMap((item) => {
      const open = item.lastIndexOf('<');
      const close = item.indexOf('>', open);
      const bare =
        open === -1 || close === -1 ? item.slice(item.indexOf(':') + 1) : item.slice(open + 1, close);
      const address = bare.trim().toLowerCase();
      return ADDRESS.test(address) ? address : [];
    });
}

/** The headers that delivering servers add: Gmail and qmail, Postfix, Exim. */
export const DELIVERED: readonly string[] = ['delivered-to', 'x-original-to', 'envelope-to'];
const ADDRESSED = ['to', 'cc'];

/** Most addresses of a mail. No mail to an inbox has more recipients. */
export const MAX_ADDRESSES = 1_000;
export const ADDRESS = /^[^\s<>@]{1,256}@[^\s<>@]{1,255}$/;

/** Returns the possible inbox addresses for mail to this address, best match first. */
function namesOf(key: MailKey, address: string): string[] {
  if (BOUNCE_LIKE.test(address)) return [readBounceAddress(key, address)?.mailboxAddress ?? []].flat();
  const at = address.lastIndexOf('@');
  const names = [address];
  for (let plus = address.lastIndexOf('+', at); plus > 0; plus = address.lastIndexOf('+', plus - 1)) {
    names.push(address.slice(0, plus) + address.slice(at));
  }
  return names;
}

const BOUNCE_LIKE = /\+b-[\da-f]{24}-[\da-f]{16}@/;

/** Returns the text without quoted strings and comments: their commas and addresses are text. */
function unquoted(text: string): string {
  let kept = '';
  let isQuoted = false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char === '\\' && (isQuoted || depth > 0)) at += 1;
    else if (char === '"' && depth === 0) isQuoted = !isQuoted;
    else if (char === '(' && !isQuoted) depth += 1;
    else if (char === ')' && !isQuoted && depth > 0) depth -= 1;
    else if (!isQuoted && depth === 0) kept += char;
  }
  return kept;
}
