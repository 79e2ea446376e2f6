import { createHash } from 'node:crypto';
import { derivedId } from '@parley/protocol/ids.ts';
import type { ObjectStore } from '../../../core/attachments/storage.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { MailRow } from '../mails/mail-store.ts';
import type { Arrival } from '../transports/intake.ts';
import { storable } from './storable.ts';

/** The identity of a mail at its inbox. */
export interface MailIdentity {
  /** The id of its row. */
  readonly id: string;
  /** Whether the row is there. Otherwise another mail may get the id in the meantime. */
  readonly isKnown: boolean;
  /** Whether another mail of this sender, with another text, has its Message-ID. */
  readonly isSecond: boolean;
}

/**
 * Returns one identity for the same mail at the same inbox: the Message-ID and the sender, since
 * anyone can choose a Message-ID alone, and the text where a mail of both with another text is
 * there (docs/contract.md#mail-that-comes-in). Rejects if the store fails.
 */
export async function identify(
  db: Db,
  store: Pick<ObjectStore, 'open'>,
  arrival: Arrival,
  rfcId: string,
): Promise<MailIdentity> {
  const { inbox, envelope, mail } = arrival;
  const id = derivedId('mail', `${inbox.id} ${rfcId} ${mail.from?.address ?? envelope.sender ?? ''}`);
  const text = createHash('sha256').update(squeezed(mail.text)).digest('hex');
  const second = derivedId('mail', `${id} ${text}`);
  const [accountId, sender] = [inbox.account_id, senderOf(arrival)];
  const copies = await db.query(READ_COPIES, accountId, inbox.id, rfcId, [id, second], sender);
  for (const copy of copies) {
    const isSame = copy.id === second || isSameText(copy, arrival);
    if (isSame || (await hasSameBytes(store, copy, arrival))) {
      return { id: copy.id, isKnown: true, isSecond: copy.id !== id };
    }
  }
  const isSecond = copies.length > 0;
  return { id: isSecond ? second : id, isKnown: false, isSecond };
}

/** Returns the address that the row of a mail has as its sender, or null if there is none. */
export function senderOf({ mail, envelope }: Arrival): string | null {
  return storable(mail.from?.address ?? envelope.sender ?? '') || null;
}

/** Returns the SHA-256 of a stored source, in hexadecimal digits, or undefined if it is gone. */
export async function digestOf(store: Pick<ObjectStore, 'open'>, key: string): Promise<string | undefined> {
  const source = await store.open(key);
  if (source === undefined) return undefined;
  const hash = createHash('sha256');
  for await (const piece of source.read({ isTransient: true })) hash.update(piece);
  return hash.digest('hex');
}

type Copy = Pick<MailRow, 'id' | 'body_text' | 'automatic' | 'source_key' | 'size_bytes'>;

/**
 * Returns whether the text is that of the copy, line breaks and the footer of a list aside: the
 * mail that came through the list has it, and the one that came directly has not.
 */
function isSameText({ body_text, automatic }: Copy, { mail }: Arrival): boolean {
  const [stored, arrived] = [squeezed(body_text ?? ''), squeezed(mail.text)];
  if (stored === arrived) return true;
  if (stored === '' || arrived === '') return false;
  const isOfList = mail.headers.some(({ name }) => name.startsWith('list-'));
  return (automatic && hasFooter(stored, arrived)) || (isOfList && hasFooter(arrived, stored));
}

/** Returns whether a text is the other one and a footer, below a line of dashes or the like. */
function hasFooter(whole: string, text: string): boolean {
  return whole.startsWith(text) && /^ [-_=*]{2,}( |$)/.test(whole.slice(text.length));
}

function squeezed(text: string): string {
  return storable(text).replace(/\s+/g, ' ').trim();
}

/**
 * Returns true for a copy whose source or text was removed, since nothing tells them apart then.
 */
async function hasSameBytes(
  store: Pick<ObjectStore, 'open'>,
  { body_text, source_key: key, size_bytes }: Copy,
  { source }: Arrival,
): Promise<boolean> {
  if (key === null) return body_text === null;
  if (size_bytes !== source.sizeBytes) return false;
  const digest = await digestOf(store, key);
  return digest === undefined || digest === (await digestOf(store, source.key));
}

const READ_COPIES = statement<
  [accountId: string, mailboxId: string, rfcId: string, ids: readonly string[], sender: string | null],
  Copy
>('read-copies-of-mail')`
    SELECT id, body_text, automatic, source_key, size_bytes FROM mails
    WHERE id = ANY($4) OR account_id = $1 AND md5(rfc_id) = md5($3) AND rfc_id = $3 AND inbox_id = $2
      AND direction = 'in' AND from_address IS NOT DISTINCT FROM $5
    ORDER BY created_at, id`;
