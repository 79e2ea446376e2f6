import type { Tx } from '../../../platform/db/connection/handle.ts';
import { readBounceAddress } from '../outgoing/bounce-address.ts';
import type { MailKey } from '../outgoing/mail-key.ts';
import { type NamedMail, readMessageId } from '../outgoing/message-ids.ts';
import type { Arrival } from '../transports/intake.ts';
import { DELIVERED, MAX_ADDRESSES } from '../transports/recipients.ts';
import { readNamedCases, readThreadedCases } from './incoming-store.ts';

/**
 * Returns the open cases of the inbox that a mail answers, likeliest first. Cases named by our own
 * Message-IDs and bounce addresses come first: their signatures prove that this server made them.
 * Then come cases of the other mails that it refers to, nearest first. The subject is ignored.
 * Anyone in copy knows these ids, so the caller must require that the sender takes part.
 */
export async function findCases(
  tx: Tx,
  key: MailKey,
  { inbox, envelope, mail }: Pick<Arrival, 'inbox' | 'envelope' | 'mail'>,
): Promise<AnsweredCases> {
  const rfcIds = [...new Set([mail.inReplyTo ?? [], [...mail.references].reverse()].flat())];
  const named: NamedMail[] = rfcIds.flatMap((id) => readMessageId(key, id) ?? []);
  // Absence notes go to the return path, which names no case, and often name no mail themselves.
  const bounced = bouncedMail(key, { envelope, mail });
  if (bounced !== undefined) named.push({ conversationId: '', mailId: bounced });
  const sealed = await readNamedCases(tx, inbox, named);
  const threaded = await readThreadedCases(tx, inbox, rfcIds);
  return { cases: [...new Set([...sealed, ...threaded])], sealed };
}

/** Ids of conversations, likeliest first. */
interface AnsweredCases {
  readonly cases: readonly string[];
  /** Those that our own Message-IDs and bounce addresses name. */
  readonly sealed: readonly string[];
}

/** Returns the mail named by a bounce address among the recipients. */
export function bouncedMail(
  key: MailKey,
  { envelope, mail }: Pick<Arrival, 'envelope' | 'mail'>,
): string | undefined {
  const delivered = mail.headers.flatMap(({ name, value }) => (DELIVERED.includes(name) ? value : []));
  const addresses = [...(envelope.recipients ?? delivered), ...mail.to.map(({ address }) => address)];
  for (const address of addresses.slice(0, MAX_ADDRESSES)) {
    const named = readBounceAddress(key, address);
    if (named !== undefined) return named.mailId;
  }
  return undefined;
}
