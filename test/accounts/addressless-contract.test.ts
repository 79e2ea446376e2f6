/** Users that are created without an address (docs/contract.md#users). */

import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { Person } from '@parley/protocol/resources/person.ts';
import type { User } from '@parley/protocol/resources/user.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { findRole } from '../../src/core/accounts/rights/roles.ts';
import { borrowTestApp, callsAt } from '../support/app.ts';
import { newAddress } from '../support/new-address.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { call } = callsAt(app, NEWEST_VERSION);
const before = callsAt(app, '1.3.harbor');
const { id: role_id } = await findRole(database, demo.account_id, 'member');

t.test('a user without an address', async (t) => {
  const body = { name: 'Nemo', role_id };
  const { status, body: user } = await call<User>('POST', '/v1/users', { body });
  t.equal(status, 201);
  t.equal(user.email, null);
  const standIn = `${user.id}@no-address.invalid`.toLowerCase();
  t.equal((await before.call<User>('GET', `/v1/users/${user.id}`)).body.email, standIn);
  const { body: listed } = await before.call<List<User>>('GET', '/v1/users?limit=1');
  t.match(listed.data, [{ id: user.id, email: standIn }]);
  const { body: person } = await call<Person>('GET', `/v1/messaging/people/${user.id}`);
  t.match(person, { name: 'Nemo', handle: null });
  const token = await app.tokenOf(user.id);
  t.equal((await call<List<Person>>('GET', '/v1/messaging/people', { token })).status, 200);
  t.equal((await call<User>('POST', '/v1/users', { body })).status, 201, 'nor is there one to be taken');
  t.equal(await before.refusal('POST', '/v1/users', { body }), '400 missing_field email');
});

t.test('by an external id, also to give it an address later', async (t) => {
  const [path, body] = [`/v1/users/ext:${newId('actor')}`, { name: 'Nemo', role_id }];
  t.equal(await before.refusal('PUT', path, { body }), '400 missing_field email');
  const made = await call<User>('PUT', path, { body });
  t.match(made, { status: 201, body: { email: null } });
  const email = newAddress();
  const given = await call<User>('PUT', path, { body: { email } });
  t.match(given, { status: 200, body: { id: made.body.id, email } });
});

t.test('no invitation is mailed to it', async (t) => {
  const { body: user } = await call<User>('POST', '/v1/users', { body: { name: 'Nemo', role_id } });
  const { status, body } = await call('POST', `/v1/users/${user.id}/actions/mail-invitation`);
  t.match([status, body.error.message], [409, /has no email address/]);
});

t.test('a stored answer has the address of the version that asks', async (t) => {
  const { body: user } = await call<User>('POST', '/v1/users', { body: { name: 'Nemo', role_id } });
  const other = await call<User>('POST', '/v1/users', { body: { name: 'Ned', role_id } });
  const idempotencyKey = crypto.randomUUID();
  const change = {
    body: { metadata: { id: other.body.id } },
    headers: { 'Idempotency-Key': idempotencyKey },
  };
  const path = `/v1/users/${user.id}`;
  const made = await before.call<User>('PATCH', path, change);
  const { external_id: _, ...old } = (await before.call<User>('GET', path)).body;
  t.match(made.body, { ...old, email: `${user.id}@no-address.invalid`.toLowerCase() });
  t.match((await call<User>('PATCH', path, change)).body, { id: user.id, email: null, name: 'Nemo' });
});
