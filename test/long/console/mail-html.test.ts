/**
 * The HTML of mail in the console, in a real browser: in a frame that may do nothing, with pictures
 * that are loaded when they are asked for.
 *
 * Without influence: OPERATION, ASIDE, packages/client/ai, packages/console/administration,
 * packages/console/installation, src/features/agents, src/features/widgets.
 */

import type { MailReceipt } from '@parley/protocol/resources/email.ts';
import nodemailer from 'nodemailer';
import t from 'tap';
import { signed } from '../../mail/arrivals.ts';
import { inPage } from '../../support/console-page.ts';
import { XSS_VECTORS } from '../xss-vectors.ts';
import { XssConsole } from './xss-fixture.ts';

const SECRET = 's'.repeat(32);
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw==', 'base64');
const shown = await XssConsole.start(t, { PARLEY_MAIL_SECRET: SECRET }, '/console/mail-frame');
const { app, page, watch } = shown;
const frame = page.frameLocator('iframe.mail-html');

t.test('it is shown as it looks, and pictures from elsewhere once they are asked for', async (t) => {
  const asked: string[] = [];
  await page.route('https://pictures.example/**', (route) => {
    asked.push(route.request().url());
    return route.fulfill({ contentType: 'image/gif', body: PIXEL });
  });
  await open(
    `<h1 style="color: rgb(255, 0, 0)">Order 17</h1><table><tr><td>Chair</td><td>49.00</td></tr></table>
    <p>data-remote-src="a" data-attachment="0"</p>
    <img alt="enclosed" src="cid:one@x"><img alt="elsewhere" src="https://pictures.example/a.gif?x=1&amp;y=2">
    <p style="height: 300px">The end</p>`,
    [{ filename: 'one.gif', content: PIXEL, cid: 'one@x' }],
  );
  const heading = frame.getByRole('heading', { name: 'Order 17' });
  await heading.waitFor();
  t.equal(
    await heading.evaluate(inPage('return getComputedStyle(element).color')),
    'rgb(255, 0, 0)',
    'its styles',
  );
  await frame.getByRole('cell', { name: '49.00' }).waitFor();
  await frame.getByText('data-remote-src="a" data-attachment="0"').waitFor();
  const widthOf = (name: string) =>
    frame
      .getByAltText(name)
      .evaluate(inPage('return element.decode().catch(() => undefined).then(() => element.naturalWidth)'));
  t.equal(await widthOf('enclosed'), 1, 'a picture of the mail');
  t.equal(await widthOf('elsewhere'), 0);
  t.strictSame(asked, []);
  await frame.getByText('The end').waitFor();
  const { height } = (await page.locator('iframe.mail-html').boundingBox())!;
  t.ok(height > 300 && height <= 640, `as high as the mail, within bounds: ${height}`);
  t.strictSame(watch.take(), []);

  await page.getByRole('button', { name: 'Load pictures' }).click();
  await frame.getByText('The end').waitFor();
  t.equal(await widthOf('elsewhere'), 1);
  t.equal(await widthOf('enclosed'), 1);
  t.strictSame(asked, ['https://pictures.example/a.gif?x=1&y=2']);
  t.equal(await page.getByRole('button', { name: 'Load pictures' }).count(), 0);
  await page.getByRole('button', { name: 'Hide the HTML' }).click();
  await page.locator('iframe.mail-html').waitFor({ state: 'detached' });
  watch.take();
});

t.test('every hostile text as HTML runs, loads and changes nothing', async (t) => {
  await open(`${XSS_VECTORS.map((vector) => `<div>${vector}</div>`).join('\n')}<p>All of them</p>`);
  await frame.getByText('All of them').waitFor();
  await watch.look(page, ['Hide the HTML']);
  shown.nothingRan(t);
  const origin = await frame.locator('body').evaluate(inPage('return origin'));
  t.equal(origin, 'null', 'the frame has no origin, so no storage and no session');
});

t.test('the frame runs its own script alone, also if the HTML of a mail had one', async (t) => {
  for (const path of ['/console/mail-frame', '/console/mail-frame/pictures']) {
    const { headers } = await fetch(app.baseUrl + path);
    const policy = headers.get('Content-Security-Policy')!;
    t.match(policy, /default-src 'none'; script-src 'sha256-[\w+/=]+';/, path);
    t.match(
      policy,
      /frame-ancestors 'self'; sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox$/,
    );
    t.notMatch(policy, /allow-same-origin|allow-top|allow-forms|connect-src|unsafe-eval/);
    t.equal(/https: http:/.test(policy), path.endsWith('pictures'));
  }
  await frame.locator('body').evaluate(
    inPage(`
    element.innerHTML = '<img src="/x" onerror="xssRan(1)"><iframe srcdoc="<script>parent.xssRan(2)<\\/script>"></iframe>';
    const script = document.createElement('script');
    script.append('xssRan(3)');
    element.append(script);`),
  );
  await frame.locator('img').evaluate(inPage("element.dispatchEvent(new Event('error'))"));
  t.strictSame(
    watch.take().filter((what) => /^\d/.test(what)),
    [],
  );
});

/** Has a mail with this HTML come in, and opens its conversation and the HTML. */
async function open(html: string, attachments: readonly object[] = []): Promise<void> {
  const composed = nodemailer.createTransport({ streamTransport: true, buffer: true });
  const { message } = await composed.sendMail({
    from: 'Cleo <cleo@customers.example>',
    to: app.demo.inbox.address,
    subject: 'As HTML',
    html,
    attachments: [...attachments],
  });
  const raw = message as Buffer;
  const answer = await fetch(`${app.baseUrl}/v1/mail/inbound`, {
    method: 'POST',
    headers: { 'Content-Type': 'message/rfc822', 'Parley-Signature': signed(raw, SECRET) },
    body: new Uint8Array(raw),
  });
  const receipt = (await answer.json()) as MailReceipt;
  await shown.go(`c/${receipt.mails[0]!.conversation_id}`);
  await page.locator('.mail-parts').scrollIntoViewIfNeeded();
  await page.getByRole('button', { name: 'Show as HTML' }).click();
}
