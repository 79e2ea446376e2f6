import { directionOf, type WidgetLanguage } from '@parley/protocol/resources/widget-languages.ts';
import type { MailText } from '../../../core/features/mails.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { sharedSecret } from '../../../platform/db/shared-secret.ts';
import { escapeHtml } from '../../../platform/plain-text.ts';
import { codeOf } from './code.ts';
import { CONFIRMATION_SECRET, findWaiting, tokenOf } from './confirmation-store.ts';
import { CONFIRMATION_TEXTS } from './confirmation-texts.ts';

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
  language: WidgetLanguage,
  { site, link, code }: Readonly<Record<'site' | 'link' | 'code', string>>,
): MailText {
  const texts = CONFIRMATION_TEXTS[language];
  const asked = texts.asked.replace('{site}', site);
  const rest = [texts.code.replace('{code}', code), texts.otherwise];
  const html = [
    `<p>${escapeHtml(asked)}</p>`,
    `<p><a href="${escapeHtml(link)}">${escapeHtml(texts.open)}</a></p>`,
    ...rest.map((line) => `<p>${escapeHtml(line)}</p>`),
  ].join('');
  return {
    subject: texts.subject,
    text: `${[asked, link, ...rest].join('\n\n')}\n`,
    html: `<!doctype html><html lang="${language}" dir="${directionOf(language)}"><meta charset="utf-8"><body>${html}</body></html>`,
  };
}
