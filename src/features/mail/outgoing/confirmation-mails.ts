import { derivedId } from '@parley/protocol/ids.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import type { ConfirmationDue } from '../../../core/features/mails.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { domainOf } from '../mailboxes/mailbox-address.ts';
import type { MailRow } from '../mails/mail-store.ts';
import type { WrittenMail } from './compose-mail.ts';
import { insertDue } from './outgoing-store.ts';

/** Inserts the mail of a confirmation once: a repetition finds it by its id. */
export async function makeConfirmationMail(
  db: Db,
  from: NodeParts['config']['mailFrom'],
  { confirmation_id, account_id, address }: ConfirmationDue,
): Promise<void> {
  await insertDue(db, [
    {
      id: derivedId('mail', confirmation_id),
      account_id,
      direction: 'out',
      purpose: 'confirmation',
      rfc_id: `${PREFIX}${confirmation_id}@${domainOf(from.address)}`,
      status: 'queued',
      automatic: true,
      from_address: from.address,
      from_name: from.name,
      recipients: JSON.stringify([{ address, kind: 'to', status: 'queued', code: null }]),
    },
  ]);
}

/** Writes the mail at each try, by the feature that knows the confirmation. */
export async function writeConfirmation(db: Db, publicUrl: string, mail: MailRow): Promise<WrittenMail> {
  const id = mail.rfc_id.slice(PREFIX.length, mail.rfc_id.indexOf('@'));
  const written = await db.hooks.first('confirmationMail')?.(db, id, publicUrl);
  if (written === undefined) return { unsent: 'canceled', reason: 'link_over' };
  return { ...written, sender: mail.from_address!, attachments: [] };
}

const PREFIX = 'a.';
