import t from 'tap';
import { newApiKey } from '../../src/api/access/api-keys.ts';
import { Authenticator } from '../../src/api/access/authenticate.ts';
import type { Principal } from '../../src/api/access/principal.ts';
import { Tokens } from '../../src/api/access/tokens.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { refusal, refused } from './refusal.ts';
import { AccountRows, connectTo, ManualClock, openRights, silent } from './rows.ts';

t.test('a credential becomes a principal', async (t) => {
  const { url } = await createTestDatabase(t);
  const database = await connectTo(url, t);
  const rights = await openRights(new MemoryEngine(), t);
  const clock = new ManualClock(Date.parse('2030-01-01T00:00:00Z'));
  const tokens = await Tokens.open({ database, now: clock.now });
  const authenticator = new Authenticator({
    database,
    tokens,
    rights,
    now: clock.now,
    monotonicNow: clock.now,
  });
  const rows = await AccountRows.insert(database, { permissions: ['messaging:read', 'messaging:create'] });
  const { accountId, roleId } = rows;
  const bearer = (credential: string) => authenticator.authenticate(`Bearer ${credential}`);
  const tokenOf = async (actorId: string, ttlS = 900) =>
    (await tokens.issueAccess({ accountId, actorId, ttlS })).token;

  t.test('an API key is authenticated', async (t) => {
    const { key, id, actorId } = await rows.key({ expiresAt: '2031-01-01T00:00:00Z' });
    const read = bearer(key);
    t.ok(read instanceof Promise, 'the first time it is read');
    const principal = await read;
    t.same(principal, {
      accountId,
      subscribed: true,
      actor: {
        id: actorId,
        object: 'actor',
        type: 'api_key',
        name: 'Ada',
        handle: `parley_…${key.slice(-4)}`,
        avatar_url: null,
        role: null,
        external_id: null,
        username: null,
      },
      customer: false,
      admin: false,
      seesOwnIds: true,
      seesHandles: true,
      people: 'everyone',
      operator: false,
      roleId,
      permissions: new Set(['messaging:read', 'messaging:create']),
      credential: { kind: 'api_key', id, expiresAtMs: Date.parse('2031-01-01T00:00:00Z') },
    } satisfies Principal);
    t.equal(bearer(key), principal, 'then it is there at once');
    t.equal(
      await authenticator.authenticate(`bearer ${key}`),
      principal,
      'the case of the scheme does not matter',
    );
  });

  t.test('a credential is checked while every connection for pages is busy', async (t) => {
    const { key } = await rows.key();
    const lock = await database.pool.connect();
    await lock.query('SELECT pg_advisory_lock(4711)');
    const waiting = statement('test-wait')`SELECT FROM pg_advisory_xact_lock(4711)`;
    let ended = 0;
    const pages = [...database.readers, database.pipeline, database.bulk].map((connection) =>
      connection.query(waiting).then(() => {
        ended += 1;
      }),
    );
    t.match(await bearer(key), { accountId });
    t.equal(ended, 0);
    await lock.query('SELECT pg_advisory_unlock(4711)');
    lock.release();
    await Promise.all(pages);
  });

  t.test('access tokens of a user, a customer and an agent', async (t) => {
    const user = await rows.actor({ handle: 'ada@example.com', avatarUrl: 'https://example.com/ada.png' });
    t.match(await bearer(await tokenOf(user)), {
      actor: { id: user, type: 'user', handle: 'ada@example.com', avatar_url: 'https://example.com/ada.png' },
      credential: { kind: 'access_token', expiresAtMs: clock.nowMs + 900_000 },
    });
    const customer = await bearer(await tokenOf(await rows.actor({ customer: true })));
    t.match(customer, { customer: true, admin: false, roleId: null });
    t.equal(customer.permissions.size, 0);
    const agent = await rows.actor({ type: 'agent', handle: 'no handle of agents is shown' });
    t.match(await bearer(await tokenOf(agent)), { actor: { type: 'agent', handle: null, avatar_url: null } });
  });

  t.test('an admin role grants everything', async (t) => {
    const admins = await AccountRows.insert(database, { type: 'admin', permissions: [] });
    const principal = await bearer((await admins.key()).key);
    t.match(principal, { admin: true });
    t.ok(principal.permissions.has('agents:create'));
  });

  t.test('values that are not credentials', async (t) => {
    const { key } = await rows.key();
    const token = await tokenOf(await rows.actor());
    const mistyped = `${key.slice(0, 20)}${key[20] === 'a' ? 'b' : 'a'}${key.slice(21)}`;
    const refusals = {
      missing: undefined,
      empty: '',
      'another scheme': `Basic ${key}`,
      'no scheme': key,
      'scheme alone': 'Bearer',
      'nothing after it': 'Bearer ',
      'two words': `Bearer ${key} ${key}`,
      'not ASCII': 'Bearer kéy',
      'far too long': `Bearer ${'x'.repeat(5000)}`,
      'a mistyped key': `Bearer ${mistyped}`,
      'an unknown key': `Bearer ${newApiKey().key}`,
      'a broken token': `Bearer ${token.slice(0, -3)}`,
      nonsense: 'Bearer nonsense',
    };
    for (const [what, header] of Object.entries(refusals)) {
      t.equal(await refusal(() => authenticator.authenticate(header)), 'invalid_credentials', what);
    }
  });

  t.test('a token of an actor that is not, or not in that account', async (t) => {
    const other = await AccountRows.insert(database);
    t.equal(await refusal(async () => bearer(await tokenOf('act_none'))), 'invalid_credentials');
    const foreign = await tokenOf(await other.actor());
    t.equal(await refusal(() => bearer(foreign)), 'invalid_credentials');
  });

  t.test('expiry is looked at with each use', async (t) => {
    const start = clock.nowMs;
    const inASecond = new Date(start + 1000).toISOString();
    const { key } = await rows.key({ expiresAt: inASecond });
    const token = await tokenOf(await rows.actor(), 1);
    const principals = [await bearer(key), await bearer(token)];
    clock.nowMs = start + 999;
    t.same([bearer(key), bearer(token)], principals, 'from memory until the last millisecond');
    clock.nowMs = start + 1000;
    t.equal(await refusal(() => bearer(key)), 'api_key_expired');
    t.equal(await refusal(() => bearer(token)), 'expired_token');
    t.equal(
      await refusal(() => authenticator.principalOf({ ...identityOf(principals[0]!) })),
      'api_key_expired',
    );
    t.equal(
      await refusal(() => authenticator.principalOf({ ...identityOf(principals[1]!) })),
      'expired_token',
    );
    const late = await rows.key({ expiresAt: inASecond });
    t.equal(await refusal(() => bearer(late.key)), 'api_key_expired', 'read after it expired');
    clock.nowMs = start;
  });

  t.test('revoked keys and deactivated actors, remembered or not', async (t) => {
    const revoked = await rows.key({ expiresAt: '2029-01-01T00:00:00Z' });
    await rows.revoke(revoked.id);
    t.equal(await refusal(() => bearer(revoked.key)), 'api_key_revoked', 'revoked counts before expired');
    t.equal(await refusal(() => bearer(revoked.key)), 'api_key_revoked', 'again');

    const { key, actorId } = await rows.key();
    const token = await tokenOf(actorId);
    await bearer(key);
    const principal = await bearer(token);
    await rows.deactivate(actorId);
    t.ok(!(bearer(key) instanceof Promise), 'not announced yet');
    await rights.announce(actorId);
    t.equal(await refusal(() => bearer(key)), 'invalid_credentials');
    t.equal(await refusal(() => bearer(token)), 'invalid_credentials');
    t.equal(await refusal(() => authenticator.principalOf(identityOf(principal))), 'invalid_credentials');
  });

  t.test('a role, a subscription that changes', async (t) => {
    const changing = await AccountRows.insert(database);
    const { key } = await changing.key();
    t.match(await bearer(key), { subscribed: true, admin: false });
    await database.kysely
      .updateTable('roles')
      .set({ type: 'admin' })
      .where('id', '=', changing.roleId)
      .execute();
    await rights.announce(changing.roleId);
    t.match(await bearer(key), { admin: true });
    await database.kysely
      .updateTable('accounts')
      .set({ subscription: 'inactive' })
      .where('id', '=', changing.accountId)
      .execute();
    await rights.announce(changing.accountId);
    t.match(await bearer(key), { subscribed: false });
  });

  t.test("principalOf returns the credential's current rights", async (t) => {
    const { key, id } = await rows.key();
    const identity = identityOf(await bearer(key));
    t.same(await authenticator.principalOf(identity), await bearer(key));
    const another = { ...identity, credential: { ...identity.credential, id: 'key_none' } };
    t.equal(await refusal(() => authenticator.principalOf(another)), 'invalid_credentials');
    await rows.revoke(id);
    await rights.announce(id);
    t.equal(await refusal(() => authenticator.principalOf(identity)), 'api_key_revoked');
  });

  t.test('authentication caches a bounded number of principals', async (t) => {
    const small = new Authenticator({ database, tokens, rights, maxCached: 2 });
    const keys = [await rows.key(), await rows.key(), await rows.key()];
    for (const { key } of keys) await small.authenticate(`Bearer ${key}`);
    t.ok(small.authenticate(`Bearer ${keys[0]?.key}`) instanceof Promise, 'the oldest was forgotten');
    t.notOk(small.authenticate(`Bearer ${keys[2]?.key}`) instanceof Promise, 'the latest was not');
  });

  t.test('authentication fails as unavailable while Postgres is away', async (t) => {
    const closing = await openDatabase({ url, log: silent });
    const node = new Authenticator({
      database: closing,
      tokens,
      rights,
      now: clock.now,
      monotonicNow: clock.now,
    });
    const { key } = await rows.key();
    const principal = await node.authenticate(`Bearer ${key}`);
    await closing.close();
    const unread = newApiKey().key;
    t.match(await refused(() => node.authenticate(`Bearer ${unread}`)), {
      condition: 'service_unavailable',
      retryAfterS: 1,
    });
    const mistyped = `${unread.slice(0, -1)}${unread.endsWith('a') ? 'b' : 'a'}`;
    t.equal(
      await refusal(() => node.authenticate(`Bearer ${mistyped}`)),
      'invalid_credentials',
      'a mistyped key is refused without Postgres',
    );
    clock.nowMs += 29_999;
    t.equal(node.authenticate(`Bearer ${key}`), principal, 'remembered for as long as it may be');
    clock.nowMs += 1;
    t.equal(await refusal(() => node.authenticate(`Bearer ${key}`)), 'service_unavailable');
  });
});

function identityOf({ accountId, actor, credential }: Principal) {
  return { accountId, actorId: actor.id, credential };
}
