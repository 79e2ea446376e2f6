import type { Invitation, MailedInvitation } from '@parley/protocol/resources/invitation.ts';
import type { Calls, Followed, Item } from '../administration/section.ts';

/** Invites a new person: by mail where this server sends mail, else by a link to pass on. */
export async function invite({ id, name }: Item, { offered, call }: Calls): Promise<Followed> {
  const [mail, link] = [offered('mail_invitation'), offered('create_invitation')];
  const made = `${name} was added.`;
  if (mail !== undefined) {
    try {
      const { email, expires_at } = (await call(mail, { ids: [id] })) as MailedInvitation;
      return { text: `${made} An invitation is on its way to ${email}, and ends on ${dateOf(expires_at)}.` };
    } catch (error) {
      if ((error as { readonly code?: string }).code !== 'resource_conflict') {
        return { text: `${made} The invitation failed: ${(error as Error).message}` };
      }
    }
  }
  if (link === undefined) return { text: made };
  const { url, expires_at } = (await call(link, { ids: [id] })) as Invitation;
  const text = `${made} This server sends no mail: give this link to the person. It signs in once, and ends on ${dateOf(expires_at)}.`;
  return { text, secret: url };
}

/** Returns a day with its month. */
export function dateOf(time: string): string {
  return new Date(time).toLocaleDateString(undefined, { day: 'numeric', month: 'long' });
}
