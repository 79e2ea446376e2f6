/** The key sets of identity providers: when they are read, and how long they hold. */

import t from 'tap';
import { KeySets } from '../../src/features/identity/keys/key-sets.ts';
import { createLog } from '../../src/platform/log.ts';
import { AddressGuard } from '../../src/platform/outbound/address-guard.ts';
import { GuardedFetch } from '../../src/platform/outbound/guarded-fetch.ts';
import { TokenIssuer } from '../support/token-issuer.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const AWAY = { name: 'ApiError', message: 'The keys of the identity provider cannot be read at the moment.' };

t.test('read once for ten minutes, by one request for all that wait', async (t) => {
  const { issuer, sets, source, clock } = await keySets(t);
  await Promise.all(Array.from({ length: 20 }, () => sets.of(source)));
  t.equal(issuer.asked.length, 1);
  clock.ms += 10 * MINUTE;
  await sets.of(source);
  t.equal(issuer.asked.length, 1);
  clock.ms += 1;
  await Promise.all(Array.from({ length: 20 }, () => sets.of(source)));
  t.equal(issuer.asked.length, 2);
  await sets.of({ ...source, revision: 2 });
  t.equal(issuer.asked.length, 3, 'a changed provider is asked at once');
});

t.test('an unknown key has them read again, at most every 30 seconds', async (t) => {
  const { issuer, sets, source, clock } = await keySets(t);
  await sets.of(source);
  t.equal(await sets.renewed(source), undefined);
  clock.ms += 29_999;
  t.equal(await sets.renewed(source), undefined);
  clock.ms += 1;
  issuer.addKey('next');
  const renewed = await Promise.all(Array.from({ length: 20 }, () => sets.renewed(source)));
  t.ok(renewed.every((keys) => keys !== undefined));
  t.equal(issuer.asked.length, 2);
  await renewed[0]!({ alg: 'RS256', kid: 'next' });
});

t.test('the last good ones hold for a day', async (t) => {
  const { issuer, sets, source, clock, warnings } = await keySets(t);
  const keys = await sets.of(source);
  issuer.answer = { status: 503 };
  clock.ms += 11 * MINUTE;
  t.equal(await sets.of(source), keys);
  t.equal(warnings.length, 1, 'it is logged');
  t.notMatch(warnings[0], issuer.origin, 'without its address');
  t.equal(await sets.of(source), keys);
  t.equal(issuer.asked.length, 2, 'it is not asked at each token');
  clock.ms += 23 * HOUR;
  t.equal(await sets.of(source), keys);
  clock.ms += HOUR;
  await t.rejects(sets.of(source), AWAY);
  issuer.answer = undefined;
  clock.ms += 30_000;
  t.ok(await sets.of(source));
});

t.test('what is no key set: a redirect, too much, no JSON, other addresses', async (t) => {
  const { issuer, sets, source, clock } = await keySets(t);
  const answers = [
    { status: 302, headers: { Location: `${issuer.origin}/others` } },
    { status: 200, text: JSON.stringify({ ...issuer.keySet, more: 'x'.repeat(65_536) }) },
    { status: 200, text: 'keys' },
    { status: 200, text: '{"keys":{}}' },
    { status: 404 },
  ];
  for (const answer of answers) {
    issuer.answer = answer;
    clock.ms += 5_000;
    await t.rejects(sets.of(source), AWAY);
  }
  t.strictSame([...new Set(issuer.asked)], ['/keys'], 'no redirect was followed');
  const closed = new KeySets({
    fetch: new GuardedFetch(new AddressGuard({ allow: [] })),
    log: createLog('silent'),
  });
  await t.rejects(closed.of(source), AWAY);
  t.equal(issuer.asked.length, answers.length, 'an address that is not public is not asked');
});

t.test('an odd entry spoils no others, and the log names it', async (t) => {
  const { issuer, sets, source, warnings, clock } = await keySets(t);
  const [first, second] = issuer.keySet.keys as [Record<string, unknown>, Record<string, unknown>];
  const odd: readonly unknown[] = [
    null,
    5,
    'key',
    [],
    {},
    { kty: 7 },
    { kty: 'RSA' },
    { ...first, n: 5 },
    { ...first, n: '' },
    { ...second, x: undefined },
    { ...second, crv: 'P-999' },
    { ...first, d: 'secret' },
  ];
  for (const entry of odd) {
    issuer.answer = { status: 200, text: JSON.stringify({ keys: [entry, first, entry] }) };
    clock.ms += 11 * MINUTE;
    const before = warnings.length;
    const keys = await sets.of(source);
    t.ok(await keys({ alg: 'RS256', kid: String(first.kid) }), JSON.stringify(entry));
    t.equal(warnings.length, before + 1, 'one warning');
    t.match(warnings.at(-1), /keys\[0\].*keys\[2\]/);
    t.notMatch(warnings.at(-1), /secret/);
  }
  issuer.answer = { status: 200, text: JSON.stringify({ keys: odd }) };
  clock.ms += 11 * MINUTE;
  t.ok(await sets.of(source), 'the earlier keys hold where none can be used');
  issuer.answer = {
    status: 200,
    text: JSON.stringify({ keys: [{ kty: 'oct', k: 'AA' }, { kty: 'AKP' }, first] }),
  };
  clock.ms += 11 * MINUTE;
  const before = warnings.length;
  t.ok(await (await sets.of(source))({ alg: 'RS256', kid: String(first.kid) }));
  t.equal(warnings.length, before, 'kinds that sign no token are not odd');
});

t.test('the same key twice is one key, two keys of one id are not', async (t) => {
  const { issuer, sets, source, clock } = await keySets(t);
  const [first] = issuer.keySet.keys as [Record<string, unknown>];
  const { alg: _, ...withoutAlgorithm } = first;
  for (const keys of [
    [first, first],
    [first, { ...withoutAlgorithm, use: 'sig' }],
    [withoutAlgorithm, first, { ...first, x5t: 'other' }],
  ]) {
    issuer.answer = { status: 200, text: JSON.stringify({ keys }) };
    clock.ms += 11 * MINUTE;
    const read = await sets.of(source);
    t.ok(await read({ alg: 'RS256', kid: String(first.kid) }), JSON.stringify(keys.map(Object.keys)));
  }
  issuer.addKey(String(first.kid));
  issuer.answer = undefined;
  clock.ms += 11 * MINUTE;
  const read = await sets.of(source);
  await t.rejects(read({ alg: 'RS256', kid: String(first.kid) }), {
    code: 'ERR_JWKS_MULTIPLE_MATCHING_KEYS',
  });
});

async function keySets(t: Parameters<typeof TokenIssuer.start>[0]) {
  const issuer = await TokenIssuer.start(t);
  const clock = { ms: 0 };
  const warnings: string[] = [];
  const log = createLog('silent');
  log.warn = ((...entry: readonly unknown[]) => {
    warnings.push(JSON.stringify(entry));
  }) as typeof log.warn;
  const fetch = new GuardedFetch(new AddressGuard({ allow: ['127.0.0.1'] }));
  const sets = new KeySets({ fetch, log, now: () => clock.ms });
  return {
    issuer,
    clock,
    warnings,
    sets,
    source: { id: 'idp_x', revision: 1, jwks: null, jwks_url: issuer.keysUrl },
  };
}
