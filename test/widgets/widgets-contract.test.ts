/** Widgets for their admins, and what visitors may know (docs/contract.md#widgets). */

import type { Widget, WidgetPublic } from '@parley/protocol/resources/widget.ts';
import { WIDGET_LANGUAGES } from '@parley/protocol/resources/widget-languages.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { provide } from '../identity/fixture.ts';
import { callsAt, startTestApp } from '../support/app.ts';
import { TokenIssuer } from '../support/token-issuer.ts';
import { OPEN, visitorsOf } from './fixture.ts';

const app = await startTestApp(t, { PARLEY_FETCH_ALLOW: '127.0.0.1' });
const { demo } = app;
const { call, refusal } = callsAt(app, NEWEST_VERSION);
const { need, widget, visitor, openCase, send } = visitorsOf(app);
const issuer = await TokenIssuer.start(t);
const provider = await provide(app, issuer, { person: 'customer', provision: 'first_use' });
const group = await need<{ id: string }>('POST', '/v1/messaging/groups', { body: { name: 'Shop' } });

const WHOLE = {
  name: 'Shop',
  sites: ['https://Shop.example:443', 'https://shop.example:8443/', 'http://localhost:3000', 'https://[::1]'],
  group_id: group.id,
  hours: { timezone: 'Europe/Berlin', open: [{ day: 'monday', from: '09:00', to: '17:00' }] },
  texts: { en: { greeting: 'Hello' }, ar: { greeting: 'مرحبًا', offline: null } },
  colors: { light: '#0f766e' },
  identity_provider_id: provider.id,
  show_team: true,
  enabled: false,
} as const;

t.test('a widget is made, read, listed, changed and deleted, and audited', async (t) => {
  const made = await need<Widget>('POST', '/v1/widgets', { body: WHOLE });
  t.match(made, {
    object: 'widget',
    name: 'Shop',
    sites: ['https://shop.example', 'https://shop.example:8443', 'http://localhost:3000', 'https://[::1]'],
    group_id: group.id,
    hours: WHOLE.hours,
    texts: { en: { greeting: 'Hello', offline: null }, ar: { greeting: 'مرحبًا', offline: null } },
    colors: { light: '#0f766e', dark: null },
    identity_provider_id: provider.id,
    show_team: true,
    enabled: false,
  });
  const path = `/v1/widgets/${made.id}`;
  t.strictSame(await need('GET', path), made);
  const { data } = await need<{ data: Widget[] }>('GET', '/v1/widgets?q=shop');
  t.strictSame(data, [made]);
  const cleared = await need<Widget>('PATCH', path, {
    body: {
      group_id: null,
      hours: null,
      texts: null,
      colors: null,
      identity_provider_id: null,
      enabled: true,
    },
  });
  const none = { greeting: null, offline: null };
  t.match(cleared, {
    name: 'Shop',
    sites: made.sites,
    group_id: null,
    hours: null,
    texts: { en: none, ar: none },
    colors: { light: null, dark: null },
    identity_provider_id: null,
    enabled: true,
  });
  t.match(await need('PATCH', path, { body: { name: 'Two', sites: ['https://two.example'] } }), {
    name: 'Two',
    sites: ['https://two.example'],
  });
  t.match(await need('DELETE', path), { id: made.id });
  t.equal(await refusal('GET', path), '404 resource_not_found id');
  const audited = await need<{ data: { action: string; details: { widget_id?: string } }[] }>(
    'GET',
    '/v1/account/audit?limit=20',
  );
  t.strictSame(
    audited.data.filter(({ details }) => details.widget_id === made.id).map(({ action }) => action),
    ['widget.deleted', 'widget.updated', 'widget.updated', 'widget.created'],
  );
});

t.test('each rule of a body', async (t) => {
  const { id } = await widget();
  const team = await provide(app, await TokenIssuer.start(t));
  const opening = { day: 'monday', from: '09:00', to: '17:00' };
  const bodies: readonly [object, string][] = [
    [{ name: undefined }, '400 missing_field name'],
    [{ sites: undefined }, '400 missing_field sites'],
    [{ name: 'a\nb' }, '422 validation_failed name'],
    [{ sites: [] }, '422 validation_failed sites'],
    [{ sites: Array.from({ length: 51 }, (_, n) => `https://s${n}.example`) }, '422 validation_failed sites'],
    [{ sites: ['https://a.example', 'https://a.example'] }, '422 validation_failed sites[1]'],
    [{ sites: ['*'] }, '400 invalid_format sites[0]'],
    [{ sites: ['https://user@a.example'] }, '422 validation_failed sites[0]'],
    [{ sites: ['https://a.example/?'] }, '422 validation_failed sites[0]'],
    [{ sites: ['https://a.example/#'] }, '422 validation_failed sites[0]'],
    [{ sites: ['https://a.example;script-src'] }, '422 validation_failed sites[0]'],
    [{ sites: ["https://a.example'self'"] }, '422 validation_failed sites[0]'],
    [{ sites: ['http://10.0.0.1'] }, '422 validation_failed sites[0]'],
    [{ sites: ['javascript:alert(1)'] }, '422 validation_failed sites[0]'],
    [
      { hours: { timezone: 'UTC', open: [{ ...opening, day: 'someday' }] } },
      '422 validation_failed hours.open[0].day',
    ],
    [
      { hours: { timezone: 'UTC', open: [{ ...opening, from: '9:00' }] } },
      '422 validation_failed hours.open[0].from',
    ],
    [{ hours: { open: [] } }, '400 missing_field hours.timezone'],
    [{ texts: { sv: {} } }, '422 validation_failed texts.sv'],
    [{ texts: { fr: { offline: 'x'.repeat(1_001) } } }, '422 validation_failed texts.fr.offline'],
    [{ show_team: 'yes' }, '400 invalid_format show_team'],
    [{ texts: { en: { greeting: 'x'.repeat(1_001) } } }, '422 validation_failed texts.en.greeting'],
    [{ colors: { light: 'red' } }, '422 validation_failed colors.light'],
    [{ colors: { dark: '#fff' } }, '422 validation_failed colors.dark'],
    [{ group_id: 'grp_none' }, '404 resource_not_found group_id'],
    [{ identity_provider_id: 'idp_none' }, '404 resource_not_found identity_provider_id'],
    [{ identity_provider_id: team.id }, '422 validation_failed identity_provider_id'],
    [{ enabled: 'yes' }, '400 invalid_format enabled'],
    [{ more: 1 }, '422 validation_failed more'],
  ];
  for (const [more, expected] of bodies) {
    const what = JSON.stringify(more).slice(0, 100);
    const whole = { name: 'A', sites: ['https://a.example'], ...more };
    t.equal(await refusal('POST', '/v1/widgets', { body: whole }), expected, what);
    if (Object.values(more).includes(undefined)) continue;
    t.equal(await refusal('PATCH', `/v1/widgets/${id}`, { body: more }), expected, `PATCH ${what}`);
  }
  t.equal(await refusal('PATCH', `/v1/widgets/${id}`, { body: {} }), '422 validation_failed null');
  t.equal(await refusal('PATCH', `/v1/widgets/${id}`, { body: { name: null } }), '400 missing_field name');
});

t.test('who may, what another account sees, and a replay', async (t) => {
  const { id } = await widget();
  const body = { name: 'A', sites: ['https://a.example'] };
  const none = { headers: { Authorization: undefined }, body };
  t.equal(await refusal('POST', '/v1/widgets', none), '401 invalid_credentials Authorization');
  const { access_token: token } = demo.users.grace;
  t.equal(await refusal('POST', '/v1/widgets', { token, body }), '403 insufficient_permissions null');
  t.equal(await refusal('GET', '/v1/widgets', { token }), '403 insufficient_permissions null');
  const theirs = {
    token: demo.other_account.api_key,
    headers: { 'Service-Account': demo.other_account.account_id },
  };
  for (const [method, change] of [['GET'], ['PATCH', { name: 'B' }], ['DELETE']] as const) {
    const asked = { ...theirs, ...(change && { body: change }) };
    t.equal(await refusal(method, `/v1/widgets/${id}`, asked), '404 resource_not_found id', method);
  }
  const headers = { 'Idempotency-Key': 'widget-1' };
  const [first, again] = [
    await call<Widget>('POST', '/v1/widgets', { headers, body }),
    await call<Widget>('POST', '/v1/widgets', { headers, body }),
  ];
  t.strictSame([first.status, again.text], [201, first.text]);
  t.equal(again.headers.get('Idempotent-Replayed'), 'true');
  const old = { headers: { 'Service-Version': '1.2.harbor' } };
  t.match(await refusal('GET', '/v1/widgets', old), /api_version_too_old/);
});

t.test('50 at most, also two at once', async (t) => {
  const { data } = await need<{ data: Widget[] }>('GET', '/v1/widgets?limit=100');
  for (let more = data.length; more < 49; more += 1) await widget();
  const asked = await Promise.all(
    [1, 2].map(() => refusal('POST', '/v1/widgets', { body: { name: 'A', sites: ['https://a.example'] } })),
  );
  t.strictSame(asked.sort(), ['201', '403 limit_exceeded null']);
  const all = await need<{ data: Widget[] }>('GET', '/v1/widgets?limit=100');
  for (const { id } of all.data.slice(0, 10)) await need('DELETE', `/v1/widgets/${id}`);
});

t.test('visitors see what is meant for them, without a credential', async (t) => {
  const { id } = await widget({
    name: 'Secret name',
    texts: WHOLE.texts,
    colors: WHOLE.colors,
    group_id: group.id,
    identity_provider_id: provider.id,
  });
  const path = `/v1/widgets/${id}/public`;
  const { body, headers, text } = await call<WidgetPublic>('GET', path, { headers: OPEN });
  t.strictSame(body, {
    id,
    object: 'widget_public',
    account_id: demo.account_id,
    sites: ['https://shop.example'],
    persona: { name: 'Shop', avatar_url: null },
    texts: {
      ...Object.fromEntries(
        WIDGET_LANGUAGES.map((language) => [language, { greeting: null, offline: null }]),
      ),
      en: { greeting: 'Hello', offline: null },
      ar: { greeting: 'مرحبًا', offline: null },
    },
    colors: { light: '#0f766e', dark: null },
    is_open: true,
    opens_at: null,
    team: [],
    answers_in: null,
    identifies: true,
    confirms_addresses: false,
    mails_answers: false,
  });
  t.equal(headers.get('Set-Cookie'), null);
  t.notMatch(text, 'Secret name');
  await need('PATCH', `/v1/widgets/${id}`, {
    body: { hours: { timezone: 'UTC', open: [] }, group_id: null },
  });
  t.match((await call('GET', path, { headers: OPEN })).body, {
    is_open: false,
    opens_at: null,
    persona: { name: 'Customer Service' },
  });
  await need('PATCH', `/v1/widgets/${id}`, { body: { enabled: false } });
  t.equal(await refusal('GET', path, { headers: OPEN }), '404 resource_not_found id');
});

t.test('what a widget names can be deleted', async (t) => {
  const other = await provide(app, await TokenIssuer.start(t), { person: 'customer' });
  const named = await need<{ id: string }>('POST', '/v1/messaging/groups', { body: { name: 'Gone' } });
  const { id } = await widget({ group_id: named.id, identity_provider_id: other.id });
  await need('DELETE', `/v1/messaging/groups/${named.id}`);
  await need('DELETE', `/v1/identity-providers/${other.id}`);
  t.match(await need('GET', `/v1/widgets/${id}`), { group_id: null, identity_provider_id: null });
});

t.test('more languages, and the team, are there since 1.4', async (t) => {
  const old = { headers: { 'Service-Version': '1.3.harbor' } };
  const { id } = await widget({ texts: { de: { greeting: 'Ahoi!' } }, show_team: true });
  const path = `/v1/widgets/${id}`;
  t.match(await need('GET', path), { texts: { de: { greeting: 'Ahoi!', offline: null } }, show_team: true });
  const { body } = await call<Widget>('GET', path, old);
  t.strictSame(Object.keys(body.texts), ['en', 'ar']);
  t.notOk('show_team' in body);
  const { body: shown } = await call<WidgetPublic>('GET', `${path}/public`, {
    headers: { ...OPEN, ...old.headers },
  });
  t.strictSame(Object.keys(shown.texts), ['en', 'ar']);
  t.notOk('team' in shown || 'answers_in' in shown);
  const refused = (more: object) => refusal('PATCH', path, { ...old, body: more });
  t.equal(await refused({ texts: { de: {} } }), '422 validation_failed texts.de');
  t.equal(await refused({ show_team: true }), '422 validation_failed show_team');
});

t.test('visitors see the team where the account wants it: first names and pictures', async (t) => {
  const { data: users } = await need<{ data: { id: string; name: string }[] }>('GET', '/v1/users?limit=100');
  const members = ['Ada Lovelace', 'Grace Hopper'].map(
    (name) => users.find((user) => user.name === name)!.id,
  );
  const { id: group_id } = await need<{ id: string }>('POST', '/v1/messaging/groups', {
    body: { name: 'Faces', members },
  });
  const { id } = await widget({ group_id });
  const shown = async () => {
    const { body, text } = await call<WidgetPublic>('GET', `/v1/widgets/${id}/public`, { headers: OPEN });
    t.notMatch(text, /Lovelace|Hopper|act_|@/);
    return body.team;
  };
  t.strictSame(await shown(), []);
  await need('PATCH', `/v1/widgets/${id}`, { body: { show_team: true } });
  t.strictSame(await shown(), [
    { name: 'Ada', avatar_url: null },
    { name: 'Grace', avatar_url: null },
  ]);
  await need('POST', `/v1/users/${members[1]}/actions/deactivate`);
  t.strictSame(await shown(), [{ name: 'Ada', avatar_url: null }], 'an inactive user is not shown');
});

t.test('how soon the team answers is measured in real conversations', async (t) => {
  const shop = await widget();
  const answersIn = async ({ id }: { id: string }) =>
    (await call<WidgetPublic>('GET', `/v1/widgets/${id}/public`, { headers: OPEN })).body.answers_in;
  for (let asked = 0; asked < 5; asked += 1) {
    const { access_token } = await visitor(shop);
    const { id } = await openCase(access_token);
    await send(access_token, id, 'Do you have rope?');
    await need('POST', `/v1/messaging/conversations/${id}/messages`, {
      body: { body: 'A note', client_message_id: crypto.randomUUID() },
    });
    const answer = { body: 'We do.', audience: 'customer', client_message_id: crypto.randomUUID() };
    await need('POST', `/v1/messaging/conversations/${id}/messages`, { body: answer });
  }
  t.equal(await answersIn(shop), 'minutes');
  t.equal(await answersIn(await widget()), null, 'of another widget nothing is known');
});
