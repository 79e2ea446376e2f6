/**
 * Invitations (docs/contract.md#invitations): who makes them, what they begin, and what ends them.
 */

import type { AuditEvent } from '@parley/protocol/resources/audit-event.ts';
import type { Invitation, InvitationFacts, MailedInvitation } from '@parley/protocol/resources/invitation.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { createAccount } from '../../src/core/accounts/account/accounts.ts';
import { personWith, TIME } from '../accounts/fixture.ts';
import { borrowTestApp, callsAt, type Refusal, startTestApp } from '../support/app.ts';
import { MailServer } from '../support/mail-server.ts';
import { CookieJar } from '../support/oidc-provider.ts';
import { until } from '../support/until.ts';
import { session, tokenFrom } from './sign-in-fixture.ts';

const mail = await MailServer.start(t);
const app = await startTestApp(t, { PARLEY_SMTP_URL: mail.url });
const { call, refusal } = callsAt(app, NEWEST_VERSION);
const { demo, database } = app;
const ORIGIN = new URL(app.baseUrl).origin;
const COOKIE = '__Host-parley_session';
const NOT_VALID = '401 invalid_credentials invitation';

t.test('an invitation: every field and no other; it signs in once', async (t) => {
  const person = await personWith(app, []);
  const { status, body } = await call<Invitation>('POST', invitationsOf(person.id));
  t.equal(status, 201);
  t.strictSame(body, {
    object: 'invitation',
    user_id: person.id,
    secret: body.secret,
    expires_at: body.expires_at,
    url: `${app.baseUrl}/console/#invitation=${body.secret}`,
  });
  t.match(body.secret, /^invitation_[\w-]{43}$/);
  t.match(body.expires_at, TIME);
  const days = (Date.parse(body.expires_at) - Date.now()) / 86_400_000;
  t.ok(days > 6.9 && days < 7.1, 'seven days');
  const stored = await database.kysely
    .selectFrom('invitations')
    .select('hash')
    .where('actor_id', '=', person.id)
    .executeTakeFirstOrThrow();
  t.equal(stored.hash.length, 32, 'a hash');

  const jar = new CookieJar();
  const used = await use(jar, { invitation: body.secret, account_id: demo.account_id });
  t.strictSame([used.status, await used.text()], [204, '']);
  t.equal(used.headers.get('Cache-Control'), 'no-store');
  t.match(used.headers.getSetCookie(), [
    /^__Host-parley_session=refresh_[\w-]{43}; Path=\/; Max-Age=2592000; Secure; HttpOnly; SameSite=Strict$/,
  ]);
  const token = await tokenFrom(await session(app, jar));
  t.strictSame([token.user_id, token.account_id], [person.id, demo.account_id]);
  t.equal((await tokenFrom(await session(app, jar))).user_id, person.id, 'traded again');

  const replay = await use(new CookieJar(), { invitation: body.secret });
  t.equal(await refusalOf(replay), NOT_VALID);
  t.strictSame(replay.headers.getSetCookie(), []);
  t.equal((await session(app, jar)).status, 200, 'the session of the first use stays');

  const { body: audit } = await call<{ data: AuditEvent[] }>('GET', '/v1/account/audit?limit=2');
  t.strictSame(
    audit.data.map(({ action, actor, details }) => [action, actor?.id, details]),
    [
      ['user.invitation_used', person.id, { user_id: person.id }],
      ['user.invited', audit.data[1]!.actor?.id, { user_id: person.id }],
    ],
  );
});

t.test('of two uses at a time one gets a session', async (t) => {
  const { secret } = await invite((await personWith(app, [])).id);
  const jars = [new CookieJar(), new CookieJar(), new CookieJar()];
  const statuses = await Promise.all(
    jars.map(async (jar) => (await use(jar, { invitation: secret })).status),
  );
  t.strictSame(statuses.sort(), [204, 401, 401]);
  t.equal(jars.filter((jar) => jar.get(app.baseUrl, COOKIE)).length, 1);
});

t.test('what is refused at its use', async (t) => {
  const person = await personWith(app, []);
  const { secret } = await invite(person.id);
  const refused = async (body: object, origin?: string) =>
    refusalOf(await use(new CookieJar(), body, origin));
  t.equal(
    await refused({ invitation: secret }, 'https://evil.example'),
    '403 insufficient_permissions Origin',
  );
  t.equal(await refused({ invitation: secret }, ''), '403 insufficient_permissions Origin');
  t.equal(await refused({}), '400 missing_field invitation');
  t.equal(await refused({ invitation: secret, x: 1 }), '422 validation_failed x');
  t.equal(await refused({ invitation: `${secret}x` }), NOT_VALID);
  t.equal(await refused({ invitation: 'x'.repeat(40_000) }), '413 validation_failed null');
  const { account: foreign } = await database.transaction((tx) => createAccount(tx, { name: 'Other' }));
  t.equal(await refused({ invitation: secret, account_id: foreign.id }), NOT_VALID);
  const text = await new CookieJar().fetch(`${app.baseUrl}/v1/auth/session`, {
    method: 'PUT',
    headers: { Origin: ORIGIN, 'Content-Type': 'text/plain' },
    body: JSON.stringify({ invitation: secret }),
  });
  t.equal(await refusalOf(text), '415 invalid_format Content-Type');
  t.equal((await use(new CookieJar(), { invitation: secret })).status, 204, 'it was not used by them');

  const late = await invite(person.id);
  await database.kysely
    .updateTable('invitations')
    .set({ expires_at: '2026-01-01T00:00:00Z' })
    .where('actor_id', '=', person.id)
    .execute();
  t.equal(await refused({ invitation: late.secret }), '401 expired_token invitation');
});

t.test('what ends an invitation', async (t) => {
  const ends = async (what: string, change: (id: string, roleId: string) => Promise<unknown>) => {
    const person = await personWith(app, []);
    const { secret } = await invite(person.id);
    await change(person.id, person.roleId);
    t.equal(await refusalOf(await use(new CookieJar(), { invitation: secret })), NOT_VALID, what);
  };
  const post = (id: string, action: string) => call('POST', `/v1/users/${id}/actions/${action}`);
  await ends('a new one', invite);
  await ends('a deactivation, for good', async (id) => {
    await post(id, 'deactivate');
    await post(id, 'activate');
  });
  await ends('another role, also when it is taken back', async (id, role_id) => {
    const other = (await personWith(app, [])).roleId;
    await call('PATCH', `/v1/users/${id}`, { body: { role_id: other } });
    await call('PATCH', `/v1/users/${id}`, { body: { role_id } });
  });
  await ends('the end of all sessions', (id) => post(id, 'end-sessions'));
  await ends('erasure', (id) =>
    call('POST', `/v1/users/${id}/actions/erase`, { body: { messages: 'keep' } }),
  );
  const person = await personWith(app, []);
  const { secret } = await invite(person.id);
  await call('PATCH', `/v1/users/${person.id}`, { body: { name: 'Another name' } });
  t.equal((await use(new CookieJar(), { invitation: secret })).status, 204, 'a new name ends nothing');
});

t.test('a mail with the link goes to the address, and names account and inviter', async (t) => {
  const person = await personWith(app, []);
  const path = `/v1/users/${person.id}/actions/mail-invitation`;
  const asAda = { token: demo.users.ada.access_token };
  const { status, body } = await call<MailedInvitation>('POST', path, asAda);
  t.equal(status, 201);
  t.strictSame(body, {
    object: 'mailed_invitation',
    user_id: person.id,
    email: body.email,
    expires_at: body.expires_at,
  });
  const { raw } = await until(() => mail.received.find(({ recipients }) => recipients.includes(body.email)), {
    what: 'the mail',
  });
  const text = raw.replaceAll(/=\r?\n/g, '').replaceAll('=3D', '=');
  t.match(text, /^Subject: Ada Lovelace invites you to /m);
  t.match(text, /^Auto-Submitted: auto-generated/im);
  const [, secret = ''] = /#invitation=(invitation_[\w-]{43})/.exec(text) ?? [];
  const facts = await show({ invitation: secret });
  t.equal(facts.status, 200);
  t.match((await facts.json()) as InvitationFacts, {
    object: 'invitation_facts',
    invited_by: 'Ada Lovelace',
    email: body.email,
    expires_at: body.expires_at,
  });
  t.equal((await use(new CookieJar(), { invitation: secret })).status, 204, 'showing it did not use it');
  t.equal(await refusalOf(await show({ invitation: secret })), NOT_VALID);
  t.equal(await refusalOf(await show({ invitation: 'invitation_x' })), NOT_VALID);
  t.equal(await refusalOf(await show({ invitation: secret }, '')), '403 insufficient_permissions Origin');
  const [event] = (await call<{ data: AuditEvent[] }>('GET', '/v1/account/audit?action=user.invited&limit=1'))
    .body.data;
  t.strictSame(event!.details, { user_id: person.id, mailed: true });
  const quiet = await borrowTestApp(t);
  const { refusal: refusedBy } = callsAt(quiet, NEWEST_VERSION);
  const here = `/v1/users/${quiet.demo.users.vera.id}/actions/mail-invitation`;
  t.equal(await refusedBy('POST', here), '409 resource_conflict null', 'a server without SMTP');
});

t.test('a session that began by an invitation ends with its user', async (t) => {
  const person = await personWith(app, []);
  const jar = new CookieJar();
  await use(jar, { invitation: (await invite(person.id)).secret });
  await call('POST', `/v1/users/${person.id}/actions/deactivate`);
  t.equal((await session(app, jar)).status, 401);
  const next = await personWith(app, []);
  const other = new CookieJar();
  await use(other, { invitation: (await invite(next.id)).secret });
  t.equal((await session(app, other, 'DELETE')).status, 204, 'signed out');
  t.equal((await session(app, other)).status, 204, 'no cookie is left');
});

t.test('who may invite whom', async (t) => {
  const lesser = await personWith(app, []);
  const path = invitationsOf(lesser.id);
  const mailed = `/v1/users/${lesser.id}/actions/mail-invitation`;
  const changer = await personWith(app, ['users:read', 'users:create', 'users:update']);
  t.equal(await refusal('POST', path, { token: changer.token }), '403 insufficient_permissions null');
  t.equal(await refusal('POST', mailed, { token: changer.token }), '403 insufficient_permissions null');
  const inviter = await personWith(app, ['tokens:create']);
  t.equal((await call('POST', path, { token: inviter.token })).status, 201);
  t.equal(
    await refusal('POST', invitationsOf(changer.id), { token: inviter.token }),
    '403 insufficient_permissions null',
    'a role that grants more',
  );
  t.equal(
    await refusal('POST', invitationsOf(demo.users.ada.id), { token: inviter.token }),
    '403 insufficient_permissions null',
    'an admin',
  );
  t.equal(
    await refusal('POST', `/v1/users/${demo.users.ada.id}/actions/mail-invitation`, { token: inviter.token }),
    '403 insufficient_permissions null',
    'an admin, by mail',
  );
  t.equal(
    await refusal('POST', '/v1/users/usr_unknown/actions/mail-invitation'),
    '404 resource_not_found id',
  );
  t.equal(await refusal('POST', invitationsOf('usr_unknown')), '404 resource_not_found id');
  await call('POST', `/v1/users/${lesser.id}/actions/deactivate`);
  t.equal(await refusal('POST', path), '409 resource_conflict null');
  t.equal(await refusal('POST', mailed), '409 resource_conflict null');
});

function invitationsOf(id: string): string {
  return `/v1/users/${id}/invitations`;
}

async function invite(id: string): Promise<Invitation> {
  const { status, body, text } = await call<Invitation>('POST', invitationsOf(id));
  if (status !== 201) throw new Error(text);
  return body;
}

/** Sends an invitation as a page does. */
function use(jar: CookieJar, body: object, origin = ORIGIN): Promise<Response> {
  return jar.fetch(`${app.baseUrl}/v1/auth/session`, {
    method: 'PUT',
    headers: { ...(origin !== '' && { Origin: origin }), 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
}

/** Asks what an invitation is, as a page does before it is used. */
function show(body: object, origin = ORIGIN): Promise<Response> {
  return fetch(`${app.baseUrl}/v1/auth/invitation`, {
    method: 'POST',
    headers: { ...(origin !== '' && { Origin: origin }), 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function refusalOf(response: Response): Promise<string> {
  const { error } = (await response.json()) as Refusal;
  return `${response.status} ${error.code} ${error.param}`;
}
