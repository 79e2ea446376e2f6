import type { MailText } from '../../../core/features/mails.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { sharedSecret } from '../../../platform/db/shared-secret.ts';
import { escapeHtml } from '../../../platform/plain-text.ts';
import { findMailed, INVITATION_SECRET, secretOf } from './invitation-store.ts';

/**
 * Writes the mail of an invitation, with the names of the account and of the inviter. Returns
 * undefined if the invitation cannot be used any more.
 */
export async function invitationMail(db: Db, id: string, publicUrl: string): Promise<MailText | undefined> {
  const invitation = await findMailed(db, id);
  if (invitation === undefined) return undefined;
  const { account_name: account, inviter, name, email, expires_at } = invitation;
  const link = invitationUrl(publicUrl, secretOf(await sharedSecret(db, INVITATION_SECRET), id));
  const until = new Date(expires_at).toLocaleDateString('en', { dateStyle: 'long', timeZone: 'UTC' });
  const who = inviter === null ? 'You are invited' : `${inviter} invites you`;
  const before = [`Hello ${name},`, `${who} to work in ${account} on Parley, as ${email}.`];
  const after = [`The link signs you in once, until ${until}. If you did not expect it, do nothing.`];
  const open = `Join ${account}`;
  const html = [
    ...before.map(paragraph),
    `<p><a href="${escapeHtml(link)}">${escapeHtml(open)}</a></p>`,
    ...after.map(paragraph),
  ].join('');
  return {
    subject: `${who} to ${account}`.replaceAll(/[\r\n]+/g, ' '),
    text: `${[...before, link, ...after].join('\n\n')}\n`,
    html: `<!doctype html><html lang="en"><meta charset="utf-8"><body>${html}</body></html>`,
  };
}

/** Returns the address for the invited; the secret is in the fragment, which goes to no server. */
export function invitationUrl(publicUrl: string, secret: string): string {
  return `${publicUrl}/console/#invitation=${secret}`;
}

function paragraph(text: string): string {
  return `<p>${escapeHtml(text)}</p>`;
}
