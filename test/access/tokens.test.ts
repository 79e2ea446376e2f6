import { createSecretKey } from 'node:crypto';
import { SignJWT, UnsecuredJWT } from 'jose';
import t from 'tap';
import { Tokens } from '../../src/api/access/tokens.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { settingsOf } from '../support/settings.ts';
import { refusal } from './refusal.ts';
import { connectTo, ManualClock, openTestDatabase } from './rows.ts';

const SECRET = 'a secret of at least thirty-two characters';
const SUBJECT = { accountId: 'acc_1', actorId: 'act_1' };

t.test('nodes that start at once share one secret', async (t) => {
  const { url } = await createTestDatabase(t);
  const [first, second] = [await connectTo(url, t), await connectTo(url, t)];
  const nodes = await Promise.all(
    Array.from({ length: 10 }, (_, i) => Tokens.open({ database: i % 2 === 0 ? first : second })),
  );
  for (const node of nodes) {
    const { token } = await node.issueAccess(SUBJECT);
    const verified = await Promise.all(nodes.map((other) => other.verifyAccess(token)));
    t.ok(verified.every(({ actorId }) => actorId === SUBJECT.actorId));
  }
  t.same(await settingsOf(first), ['token_secret']);
});

t.test('tokens of a configured secret', async (t) => {
  const database = await openTestDatabase(t);
  const clock = new ManualClock(Date.parse('2030-01-01T00:00:00.500Z'));
  const tokens = await Tokens.open({ database, secret: SECRET, now: clock.now });
  const key = createSecretKey(Buffer.from(SECRET));
  const claims = {
    account: 'acc_1',
    sub: 'act_1',
    jti: 'x',
    iss: 'parley',
    aud: 'parley',
    exp: 2_000_000_000,
  };
  const sign = (payload: Record<string, unknown>, header = { alg: 'HS256', typ: 'at+jwt' }) =>
    new SignJWT(payload).setProtectedHeader(header).sign(key);

  t.test('nothing is kept in the database', async (t) => {
    t.same(await settingsOf(database), []);
  });

  t.test('tokens contain their subject and their expiry', async (t) => {
    const { token, expiresAt } = await tokens.issueAccess(SUBJECT);
    t.equal(expiresAt, '2030-01-01T00:15:00.000000Z');
    const verified = await tokens.verifyAccess(token);
    t.match(verified, { ...SUBJECT, id: /^.{21}$/, expiresAtMs: Date.parse(expiresAt) });
    t.equal(await tokens.verifyAccess(token), verified, 'the second time from memory');
    t.match(await tokens.issueAccess({ ...SUBJECT, ttlS: 60 }), { expiresAt: '2030-01-01T00:01:00.000000Z' });
  });

  t.test('tokens expire whether they are cached or not', async (t) => {
    const [known, unknown] = [await tokens.issueAccess(SUBJECT), await tokens.issueAccess(SUBJECT)];
    await tokens.verifyAccess(known.token);
    const before = clock.nowMs;
    clock.nowMs = Date.parse(known.expiresAt) - 1;
    await t.resolves(tokens.verifyAccess(known.token));
    clock.nowMs += 1;
    t.equal(await refusal(() => tokens.verifyAccess(known.token)), 'expired_token');
    t.equal(await refusal(() => tokens.verifyAccess(unknown.token)), 'expired_token');
    clock.nowMs = before;
  });

  t.test('are accepted only as we make them', async (t) => {
    await t.resolves(tokens.verifyAccess(await sign(claims)));
    const { token: genuine } = await tokens.issueAccess(SUBJECT);
    const [header, , signature] = genuine.split('.');
    const payload = Buffer.from(JSON.stringify({ ...claims, sub: 'act_2' })).toString('base64url');
    const other = await Tokens.open({ database, secret: `${SECRET}!`, now: clock.now });
    const refused = {
      'no token': 'nonsense',
      'three parts of nothing': 'a.b.c',
      'changed payload': `${header}.${payload}.${signature}`,
      'without signature': new UnsecuredJWT(claims).encode(),
      'another secret': (await other.issueAccess(SUBJECT)).token,
      'another algorithm': await sign(claims, { alg: 'HS512', typ: 'at+jwt' }),
      'another type': await sign(claims, { alg: 'HS256', typ: 'JWT' }),
      'another issuer': await sign({ ...claims, iss: 'elsewhere' }),
      'another audience': await sign({ ...claims, aud: 'elsewhere' }),
      'no id': await sign({ ...claims, jti: undefined }),
      'no subject': await sign({ ...claims, sub: undefined }),
      'no account': await sign({ ...claims, account: undefined }),
      'an account that is no text': await sign({ ...claims, account: 1 }),
      'no end': await sign({ ...claims, exp: undefined }),
      'expired and of another secret': (await other.issueAccess({ ...SUBJECT, ttlS: -60 })).token,
    };
    for (const [what, token] of Object.entries(refused)) {
      t.equal(await refusal(() => tokens.verifyAccess(token)), 'invalid_credentials', what);
    }
  });
});
