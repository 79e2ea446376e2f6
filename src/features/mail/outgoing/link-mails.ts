import { derivedId } from '@parley/protocol/ids.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import type { ConfirmationDue, InvitationDue, MailText } from '../../../core/features/mails.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { domainOf } from '../mailboxes/mailbox-address.ts';
import type { MailRow } from '../mails/mail-store.ts';
import type { WrittenMail } from './compose-mail.ts';
import { insertDue } from './outgoing-store.ts';

type From = NodeParts['config']['mailFrom'];

/** Inserts the mail of a confirmation once: a repetition finds it by its id. */
export function makeConfirmationMail(db: Db, from: From, due: ConfirmationDue): Promise<void> {
  const { confirmation_id, account_id, address } = due;
  return insertLinkMail(db, from, { purpose: 'confirmation', of: confirmation_id, account_id, address });
}

/** Inserts the mail of an invitation in the same way. */
export function makeInvitationMail(db: Db, from: From, due: InvitationDue): Promise<void> {
  const { invitation_id, account_id, user_id: actor_id, address } = due;
  return insertLinkMail(db, from, {
    purpose: 'invitation',
    of: invitation_id,
    account_id,
    actor_id,
    address,
  });
}

/** Writes the mail at each try, by the feature that knows the confirmation. */
export async function writeConfirmation(db: Db, publicUrl: string, mail: MailRow): Promise<WrittenMail> {
  return writtenOf(mail, await db.hooks.first('confirmationMail')?.(db, subjectOf(mail), publicUrl));
}

export async function writeInvitation(db: Db, publicUrl: string, mail: MailRow): Promise<WrittenMail> {
  return writtenOf(mail, await db.hooks.first('invitationMail')?.(db, subjectOf(mail), publicUrl));
}

interface LinkMail {
  readonly purpose: 'confirmation' | 'invitation';
  /** The id of the confirmation or invitation whose link it has. */
  readonly of: string;
  readonly account_id: string;
  readonly actor_id?: string;
  readonly address: string;
}

async function insertLinkMail(db: Db, from: From, { of, address, ...mail }: LinkMail): Promise<void> {
  await insertDue(db, [
    {
      ...mail,
      id: derivedId('mail', of),
      direction: 'out',
      rfc_id: `${PREFIX}${of}@${domainOf(from.address)}`,
      status: 'queued',
      automatic: true,
      from_address: from.address,
      from_name: from.name,
      recipients: JSON.stringify([{ address, kind: 'to', status: 'queued', code: null }]),
    },
  ]);
}

const PREFIX = 'a.';

function subjectOf({ rfc_id }: MailRow): string {
  return rfc_id.slice(PREFIX.length, rfc_id.indexOf('@'));
}

function writtenOf(mail: MailRow, text: MailText | undefined): WrittenMail {
  if (text === undefined) return { unsent: 'canceled', reason: 'link_over' };
  return { ...text, sender: mail.from_address!, attachments: [] };
}
