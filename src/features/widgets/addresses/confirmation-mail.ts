import type { ConfirmationLanguage } from '@parley/protocol/resources/widget.ts';
import type { MailText } from '../../../core/features/mails.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { sharedSecret } from '../../../platform/db/shared-secret.ts';
import { escapeHtml } from '../../../platform/plain-text.ts';
import { codeOf } from './code.ts';
import { CONFIRMATION_SECRET, findWaiting, tokenOf } from './confirmation-store.ts';

/**
 * Writes the mail that confirms an address, without any text of the visitor. Returns undefined if
 * the link would no longer work.
 */
export async function confirmationMail(
  db: Db,
  confirmationId: string,
  publicUrl: string,
): Promise<MailText | undefined> {
  const waiting = await findWaiting(db, confirmationId);
  if (waiting === undefined) return undefined;
  const { account_id, widget_id, language, sites } = waiting;
  const secret = await sharedSecret(db, CONFIRMATION_SECRET);
  const token = tokenOf(secret, confirmationId);
  // The token follows the #, so that no server and no log gets it.
  const query = new URLSearchParams({ account: account_id, widget: widget_id });
  return mailText(language, {
    site: new URL(sites[0]!).host,
    link: `${publicUrl}/widget/frame?${query}#confirm=${token}`,
    code: codeOf(secret, confirmationId),
  });
}

function mailText(
  language: ConfirmationLanguage,
  { site, link, code }: Readonly<Record<'site' | 'link' | 'code', string>>,
): MailText {
  const { subject, lines: templates, open, direction } = TEXTS[language];
  const lines = templates.map((line) => line.replace('{site}', site).replace('{code}', code));
  const html = [
    ...lines.slice(0, 1).map((line) => `<p>${escapeHtml(line)}</p>`),
    `<p><a href="${escapeHtml(link)}">${escapeHtml(open)}</a></p>`,
    ...lines.slice(1).map((line) => `<p>${escapeHtml(line)}</p>`),
  ].join('');
  return {
    subject,
    text: `${[lines[0], link, ...lines.slice(1)].join('\n\n')}\n`,
    html: `<!doctype html><html lang="${language}" dir="${direction}"><meta charset="utf-8"><body>${html}</body></html>`,
  };
}

interface Texts {
  readonly subject: string;
  /** The link follows the first line. */
  readonly lines: readonly string[];
  readonly open: string;
  readonly direction: 'ltr' | 'rtl';
}

const TEXTS: Readonly<Record<ConfirmationLanguage, Texts>> = {
  en: {
    subject: 'Confirm your email address',
    lines: [
      'This address was typed into a chat of {site}. If that was you, open the link to go on with the chat in the browser that you open it in. It works once, within an hour.',
      'Or type this code into the page where you asked for it, to go on there: {code}',
      'If it was not you, do nothing, and give the code to no one: without the link or the code the chat learns nothing of you.',
    ],
    open: 'Go on with the chat',
    direction: 'ltr',
  },
  ar: {
    subject: 'أكّد عنوان بريدك الإلكتروني',
    lines: [
      'كُتب هذا العنوان في محادثة على {site}. إن كنت أنت من كتبه فافتح الرابط لتتابع المحادثة في المتصفح الذي تفتحه فيه. يعمل الرابط مرة واحدة وخلال ساعة.',
      'أو اكتب هذا الرمز في الصفحة التي طلبته منها لتتابع هناك: {code}',
      'إن لم تكن أنت فلا تفعل شيئًا ولا تعطِ الرمز لأحد: بدون الرابط أو الرمز لا تعرف المحادثة عنك شيئًا.',
    ],
    open: 'متابعة المحادثة',
    direction: 'rtl',
  },
};
