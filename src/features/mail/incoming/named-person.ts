import type { Mailbox } from '@parley/mail-reader/parsed-mail.ts';
import { withoutTag } from '../mailboxes/mailbox-address.ts';
import type { Arrival } from '../transports/intake.ts';
import { ADDRESS, addressesIn } from '../transports/recipients.ts';
import { storable } from './storable.ts';

/**
 * The person that another header than `From` names: a group has rewritten `From`, or a form sends
 * in its own name (docs/contract.md#unproven-senders).
 */
export interface NamedPerson {
  /** In lower case. */
  readonly address: string;
  readonly name: string;
  readonly header: 'Reply-To' | 'X-Original-From';
}

/** Returns the person if it is another than the sender, the inbox or the list; else undefined. */
export function namedPerson(arrival: Arrival, sender: string | undefined): NamedPerson | undefined {
  const { inbox, mail } = arrival;
  const original = mail.headers.find(({ name }) => name === 'x-original-from')?.value ?? '';
  const originalName = original.includes('<') ? original.split('<')[0] : mail.from?.name;
  const candidates = [
    ...addressesIn(original).map((address) => ({
      address,
      name: originalName,
      header: 'X-Original-From' as const,
    })),
    ...[replyTo(arrival) ?? []].flat().map((box) => ({ ...box, header: 'Reply-To' as const })),
  ];
  const others = new Set(
    [sender, inbox.address.toLowerCase()].map((address) => address && withoutTag(address)),
  );
  const found = candidates.find(({ address }) => !others.has(withoutTag(address)));
  return (
    found && {
      ...found,
      name: storable(found.name ?? '')
        .replaceAll('"', '')
        .trim(),
    }
  );
}

/**
 * Returns where answers to the mail go, in lower case, or undefined if that is `From`: also where
 * `Reply-To` is the inbox itself, or a list, which would publish them.
 */
export function replyTo({ inbox, mail }: Arrival): Mailbox | undefined {
  if (mail.replyTo === null) return undefined;
  const address = storable(mail.replyTo.address).toLowerCase();
  if (!ADDRESS.test(address) || withoutTag(address) === inbox.address.toLowerCase()) return undefined;
  const lists = mail.headers.filter(({ name }) => name.startsWith('list-'));
  const isOfList =
    lists.some(
      ({ name, value }) => name === 'list-post' && value.toLowerCase().includes(`mailto:${address}`),
    ) ||
    (lists.length > 0 && [...mail.to, ...mail.cc].some((box) => box.address.toLowerCase() === address));
  return isOfList ? undefined : { address, name: mail.replyTo.name };
}
