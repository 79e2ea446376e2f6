/** Addresses that visitors type, and the links that confirm them (docs/contract.md#widgets). */

import type { AddressConfirmation, VisitorSession } from '@parley/protocol/resources/widget.ts';
import { WIDGET_LANGUAGES } from '@parley/protocol/resources/widget-languages.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import { sql } from 'kysely';
import t from 'tap';
import { inAnyOrder } from '../support/any-order.ts';
import { callsAt, startTestApp } from '../support/app.ts';
import { MailServer } from '../support/mail-server.ts';
import { storedText } from '../support/stored-text.ts';
import { until } from '../support/until.ts';
import { OPEN, visitorsOf } from './fixture.ts';

const mail = await MailServer.start(t);
const app = await startTestApp(t, { PARLEY_SMTP_URL: mail.url });
const { demo, database } = app;
const { call, refusal } = callsAt(app, NEWEST_VERSION);
const { need, widget, visitor, openCase, send, casesOf, textsOf } = visitorsOf(app);
const shop = await widget();
const path = (action: string, id = shop.id) => `/v1/widgets/${id}/visitors/actions/${action}`;
const confirm = (token: string, email: string, more: object = {}) =>
  call<AddressConfirmation>('POST', path('confirm-address'), { token, body: { email, ...more } });
const open = (token: string, id = shop.id) =>
  call<VisitorSession>('POST', path('open-confirmation', id), { headers: OPEN, body: { token } });
const refusedOpen = (token: string, id = shop.id) =>
  refusal('POST', path('open-confirmation', id), { headers: OPEN, body: { token } });

const enter = (confirmation_token: string | undefined, code: string, id = shop.id) =>
  call<VisitorSession>('POST', path('enter-code', id), { headers: OPEN, body: { confirmation_token, code } });
const refusedEntry = (confirmation_token: string | undefined, code: string, id = shop.id) =>
  refusal('POST', path('enter-code', id), { headers: OPEN, body: { confirmation_token, code } });

/** Returns the decoded mail to an address. */
async function mailTo(address: string, number = 1): Promise<string> {
  const mailsTo = () => mail.received.filter(({ recipients }) => recipients.includes(address));
  const { raw } = await until(() => mailsTo()[number - 1], { what: `mail ${number} to ${address}` });
  const bytes = raw
    .replaceAll(/(?<=base64\r\n\r\n)[\w+/=\r\n]+/g, (text) =>
      Buffer.from(text, 'base64').toString().replaceAll('=', '=3D'),
    )
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/((?:=[0-9A-F]{2})+)/g, (hex) => Buffer.from(hex.replaceAll('=', ''), 'hex').toString());
  return bytes;
}

async function codeTo(address: string): Promise<string> {
  const [, code] = /(?:there|هناك): (\d{6})/.exec(await mailTo(address)) ?? [];
  if (code === undefined) throw new Error('the mail has no code');
  return code;
}

async function tokenTo(address: string, number = 1): Promise<string> {
  const [, token] = /#confirm=([\w-]+)/.exec(await mailTo(address, number)) ?? [];
  if (token === undefined) throw new Error('the mail has no link');
  return token;
}

t.test('a link makes the visitor the customer of the address, where it was opened', async (t) => {
  const known = await need<{ id: string }>('POST', '/v1/messaging/conversations', {
    body: {
      type: 'group',
      audience: 'customer',
      title: 'From before',
      participants: [{ type: 'customer', name: 'Ada', email: 'ada@shop.example' }],
    },
  });
  const a = await visitor(shop);
  const { id } = await openCase(a.access_token);
  await send(a.access_token, id, 'SECRET-WORDS of mine');
  const asked = await confirm(a.access_token, 'ADA@shop.example');
  t.equal(asked.status, 200, asked.text);
  t.strictSame(await casesOf(a.access_token), [id], 'nothing is joined yet');
  const text = await mailTo('ADA@shop.example');
  t.match(text, /Auto-Submitted: auto-generated/);
  t.match(text, '/widget/frame?account=acc_');
  t.notMatch(text, 'SECRET-WORDS');
  t.match(text, 'shop.example');
  const token = await tokenTo('ADA@shop.example');
  t.notOk((await storedText(database, token)).length, 'no row has the token of the link');

  const opened = await open(token);
  t.equal(opened.status, 201, opened.text);
  t.strictSame(inAnyOrder(await casesOf(opened.body.access_token)), inAnyOrder([id, known.id]));
  t.equal((await textsOf(opened.body.access_token, id))[0]?.sender_id, opened.body.customer_id);
  t.match(await need('GET', `/v1/customers/${opened.body.customer_id}`), { name: 'Ada' });
  t.equal(
    await refusal('GET', '/v1/messaging/conversations', { token: a.access_token }),
    '401 invalid_credentials null',
    'the browser that asked gets nothing',
  );
  t.equal(await refusedOpen(token), '401 invalid_credentials token', 'once');
  const next = await call<VisitorSession>('POST', '/v1/auth/tokens/refresh', {
    headers: OPEN,
    body: { refresh_token: opened.body.refresh_token },
  });
  t.equal((await casesOf(next.body.access_token)).length, 2, 'it goes on on that device');
  await openCase(next.body.access_token);
  t.equal(
    (await confirm(next.body.access_token, 'other@shop.example')).status,
    409,
    'a known customer confirms no more',
  );
});

t.test('an unknown address is a new customer, in each language of the widget', async (t) => {
  const a = await visitor(shop);
  await confirm(a.access_token, 'new@shop.example', { language: 'ar' });
  t.match(await mailTo('new@shop.example'), 'dir="rtl"');
  t.comment('the others, each to another visitor');
  for (const language of WIDGET_LANGUAGES) {
    const b = await visitor(shop);
    await confirm(b.access_token, `${language}@shop.example`, { language });
    t.match(await mailTo(`${language}@shop.example`), `<html lang="${language}"`);
  }
  const { body } = await open(await tokenTo('new@shop.example'));
  t.match(await need('GET', `/v1/customers/${body.customer_id}`), { email: 'new@shop.example' });
});

t.test('the address of another person brings nothing of hers to the one who types it', async (t) => {
  await need('POST', '/v1/messaging/conversations', {
    body: {
      type: 'group',
      audience: 'customer',
      title: 'Hers',
      participants: [{ type: 'customer', name: 'Victim', email: 'victim@shop.example' }],
    },
  });
  const mallory = await visitor(shop);
  const { id } = await openCase(mallory.access_token);
  await send(mallory.access_token, id, 'hello');
  await confirm(mallory.access_token, 'victim@shop.example');
  const { body } = await open(await tokenTo('victim@shop.example'));
  t.equal((await casesOf(body.access_token)).length, 2);
  t.equal(
    await refusal('GET', '/v1/messaging/conversations', { token: mallory.access_token }),
    '401 invalid_credentials null',
  );
  t.equal(
    await refusal('POST', '/v1/auth/tokens/refresh', {
      headers: OPEN,
      body: { refresh_token: mallory.refresh_token },
    }),
    '401 invalid_credentials refresh_token',
  );
});

t.test('a visitor to whom the team gave an address is not joined by it', async (t) => {
  const first = await visitor(shop);
  await openCase(first.access_token);
  await need('PATCH', `/v1/customers/${first.customer_id}`, { body: { email: 'typed@shop.example' } });
  const second = await visitor(shop);
  await confirm(second.access_token, 'typed@shop.example');
  const { body } = await open(await tokenTo('typed@shop.example'));
  t.not(body.customer_id, first.customer_id);
  t.strictSame(await casesOf(body.access_token), []);
});

t.test('the code of the mail makes the page that asked the customer', async (t) => {
  const known = await need<{ id: string }>('POST', '/v1/messaging/conversations', {
    body: {
      type: 'group',
      audience: 'customer',
      title: 'From before',
      participants: [{ type: 'customer', name: 'Cora', email: 'cora@shop.example' }],
    },
  });
  const a = await visitor(shop);
  const { id } = await openCase(a.access_token);
  await send(a.access_token, id, 'Mine');
  const { body: asked } = await confirm(a.access_token, 'Cora@shop.example');
  const code = await codeTo('Cora@shop.example');
  t.notOk((await storedText(database, code)).length, 'no row has the code');
  t.notOk((await storedText(database, asked.confirmation_token!)).length, 'no row has the token of the page');
  const entered = await enter(asked.confirmation_token, code);
  t.equal(entered.status, 201, entered.text);
  t.strictSame(inAnyOrder(await casesOf(entered.body.access_token)), inAnyOrder([id, known.id]));
  t.equal(
    await refusal('GET', '/v1/messaging/conversations', { token: a.access_token }),
    '401 invalid_credentials null',
    'the anonymous session has ended',
  );
  t.equal(await refusedEntry(asked.confirmation_token, code), '401 invalid_credentials code', 'once');
  t.equal(await refusedOpen(await tokenTo('Cora@shop.example')), '401 invalid_credentials token');
});

t.test('a code works in the page that asked after its link was opened elsewhere', async (t) => {
  const a = await visitor(shop);
  const { id } = await openCase(a.access_token);
  const { body: asked } = await confirm(a.access_token, 'both@shop.example');
  const { body: elsewhere } = await open(await tokenTo('both@shop.example'));
  const { body: here } = await enter(asked.confirmation_token, await codeTo('both@shop.example'));
  t.equal(here.customer_id, elsewhere.customer_id);
  t.strictSame(await casesOf(here.access_token), [id]);
  t.strictSame(await casesOf(elsewhere.access_token), [id], 'the other browser goes on');
});

t.test('a wrong code is refused, five times for a mail and ten times a day for an address', async (t) => {
  const a = await visitor(shop);
  const { body: asked } = await confirm(a.access_token, 'guess@shop.example');
  const code = await codeTo('guess@shop.example');
  const wrong = code === '000000' ? '000001' : '000000';
  t.equal(await refusedEntry('adc_none.x', code), '401 invalid_credentials confirmation_token');
  t.equal(await refusedEntry(asked.confirmation_token, '12'), '422 validation_failed code');
  const other = await widget();
  t.equal(await refusedEntry(asked.confirmation_token, code, other.id), '401 invalid_credentials code');
  const b = await visitor(shop);
  const { body: theirs } = await confirm(b.access_token, 'guess-too@shop.example');
  t.equal(
    await refusedEntry(theirs.confirmation_token, code),
    '401 invalid_credentials code',
    'in another page it is a wrong code',
  );
  const tried = await Promise.all([1, 2, 3, 4, 5, 6, 7].map(() => enter(asked.confirmation_token, wrong)));
  t.strictSame(tried.map(({ status }) => status).sort(), [401, 401, 401, 401, 401, 429, 429], 'at once');
  const late = await enter(asked.confirmation_token, code);
  t.equal(late.status, 429, 'the right one as well');
  t.ok(Number(late.headers.get('Retry-After')) > 3_000);

  await sql`UPDATE address_confirmations SET tries = 9, created_at = created_at - interval '1 hour'
    WHERE address = 'guess@shop.example'`.execute(database.kysely);
  const { body: again } = await confirm(a.access_token, 'guess@shop.example');
  t.equal((await enter(again.confirmation_token, wrong)).status, 401);
  t.equal((await enter(again.confirmation_token, wrong)).status, 429, 'the tenth was the last');
  const opened = await open(await tokenTo('guess@shop.example', 2));
  t.equal(opened.status, 201, 'its link opens all the same');
});

t.test('one right code of two at once, and none after its hour', async (t) => {
  const a = await visitor(shop);
  const { body: asked } = await confirm(a.access_token, 'pair@shop.example');
  const code = await codeTo('pair@shop.example');
  const pair = await Promise.all([
    enter(asked.confirmation_token, code),
    enter(asked.confirmation_token, code),
  ]);
  t.strictSame(pair.map(({ status }) => status).sort(), [201, 401]);
  const b = await visitor(shop);
  const { body: late } = await confirm(b.access_token, 'slow@shop.example');
  const lateCode = await codeTo('slow@shop.example');
  await sql`UPDATE address_confirmations SET expires_at = clock_timestamp()
    WHERE address = 'slow@shop.example'`.execute(database.kysely);
  t.equal(await refusedEntry(late.confirmation_token, lateCode), '401 expired_token code');
  t.equal(
    (await callsAt(app, '1.3.harbor').call('POST', path('enter-code'), { headers: OPEN, body: {} })).status,
    400,
    'the endpoint is of a later version',
  );
});

t.test('one mail an hour for an address, and three for a visitor', async (t) => {
  const [a, b] = [await visitor(shop), await visitor(shop)];
  const asked = await Promise.all(
    [a, b].map(({ access_token }) => confirm(access_token, 'often@shop.example')),
  );
  t.strictSame(asked.map(({ status }) => status).sort(), [200, 429], 'two at once');
  const refused = asked.find(({ status }) => status === 429)!;
  const waitS = Number(refused.headers.get('Retry-After'));
  t.ok(waitS > 3_500 && waitS <= 3_600, String(waitS));
  t.equal((await confirm(b.access_token, 'OFTEN@shop.example')).status, 429, 'in whatever case');
  const c = await visitor(shop);
  const statuses = [];
  for (const n of [1, 2, 3, 4]) statuses.push((await confirm(c.access_token, `c${n}@shop.example`)).status);
  t.strictSame(statuses, [200, 200, 200, 429]);
  await tokenTo('often@shop.example');
  t.equal(mail.received.filter(({ recipients }) => /often/i.test(recipients[0]!)).length, 1);
  await sql`UPDATE address_confirmations SET created_at = created_at - interval '1 hour'`.execute(
    database.kysely,
  );
  t.equal((await confirm(b.access_token, 'often@shop.example')).status, 200, 'after the hour');
});

t.test('what opens nothing', async (t) => {
  const a = await visitor(shop);
  await confirm(a.access_token, 'late@shop.example');
  const token = await tokenTo('late@shop.example');
  t.equal(await refusedOpen('x'), '401 invalid_credentials token');
  t.equal(await refusedOpen(token, (await widget()).id), '401 invalid_credentials token', 'another widget');
  t.equal(await refusedOpen(token, 'wgt_none'), '404 resource_not_found id');
  t.equal(
    await refusal('POST', path('open-confirmation'), { headers: OPEN, body: {} }),
    '400 missing_field token',
  );
  await sql`UPDATE address_confirmations SET expires_at = clock_timestamp()`.execute(database.kysely);
  t.equal(await refusedOpen(token), '401 expired_token token');
});

t.test('two at once open a link once', async (t) => {
  const a = await visitor(shop);
  const { id } = await openCase(a.access_token);
  await confirm(a.access_token, 'twice@shop.example');
  const token = await tokenTo('twice@shop.example');
  const answers = await Promise.all([open(token), open(token), open(token)]);
  t.strictSame(answers.map(({ status }) => status).sort(), [201, 401, 401]);
  const session = answers.find(({ status }) => status === 201)!.body;
  t.strictSame(await casesOf(session.access_token), [id]);
  const rows = await database.kysely
    .selectFrom('actors')
    .select('id')
    .where('handle', '=', 'twice@shop.example')
    .execute();
  t.equal(rows.length, 1);
});

t.test('who may ask, and where no mail is sent', async (t) => {
  const a = await visitor(shop);
  const body = { email: 'who@shop.example' };
  const ask = (token: string | undefined, id = shop.id, sent: object = body) =>
    refusal('POST', path('confirm-address', id), {
      ...(token === undefined ? { headers: { Authorization: undefined } } : { token }),
      body: sent,
    });
  t.equal(await ask(undefined), '401 invalid_credentials Authorization');
  t.equal(await ask(demo.api_key), '403 insufficient_permissions null');
  t.equal(await ask(await app.tokenOf(a.customer_id)), '403 insufficient_permissions null', 'a customer');
  t.equal(await ask(a.access_token, (await widget()).id), '403 insufficient_permissions null');
  t.equal(await ask(a.access_token, shop.id, { email: 'no' }), '400 invalid_format email');
  t.equal(await ask(a.access_token, shop.id, { ...body, language: 'xx' }), '422 validation_failed language');
  t.match(await need('GET', `/v1/widgets/${shop.id}/public`), { confirms_addresses: true });

  const mute = await startTestApp(t);
  const theirs = visitorsOf(mute);
  const other = await theirs.widget();
  const b = await theirs.visitor(other);
  const { refusal: refusedThere } = callsAt(mute, NEWEST_VERSION);
  t.equal(
    await refusedThere('POST', path('confirm-address', other.id), { token: b.access_token, body }),
    '409 resource_conflict null',
  );
});
