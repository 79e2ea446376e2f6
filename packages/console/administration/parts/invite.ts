import type { Invitation, MailedInvitation } from '@parley/protocol/resources/invitation.ts';
import { inLanguage } from '@parley/ui/text/language.ts';
import { failureText } from '@parley/ui/texts/failure-text.ts';
import { texts } from '../../texts/texts.ts';
import type { Calls, Followed, Item } from '../section.ts';

/** Invites a new person: by mail where this server sends mail, else by a link to pass on. */
export async function invite({ id, ...item }: Item, { offered, call }: Calls): Promise<Followed> {
  const name = String(item.name);
  const [mail, link] = [offered('mail_invitation'), offered('create_invitation')];
  if (mail !== undefined) {
    try {
      const { email, expires_at } = (await call(mail, { ids: [id] })) as MailedInvitation;
      return { text: texts.identity.invited(name, email, dateOf(expires_at)) };
    } catch (error) {
      if ((error as { readonly code?: string }).code !== 'resource_conflict') {
        return { text: texts.identity.invitationFailed(name, failureText(error)) };
      }
    }
  }
  if (link === undefined) return { text: texts.identity.added(name) };
  const { url, expires_at } = (await call(link, { ids: [id] })) as Invitation;
  return { text: texts.identity.passLinkOn(name, dateOf(expires_at)), secret: url };
}

/** Returns a day with its month. */
export function dateOf(time: string): string {
  return day().format(new Date(time));
}

const day = inLanguage((locale) => new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long' }));
