import t from 'tap';
import { createRateLimits, networkOf, RateLimiter } from '../../src/api/access/rate-limit.ts';
import { refusal, refused } from './refusal.ts';

t.test('counts down, then refuses and returns the wait', async (t) => {
  const { credentials } = createRateLimits({ requests: 2, seconds: 60 });
  t.same(credentials.consume('key_1'), { limit: 2, remaining: 1, resetS: 60 });
  t.same(credentials.consume('key_1'), { limit: 2, remaining: 0, resetS: 60 });
  t.match(await refused(() => credentials.consume('key_1')), {
    condition: 'rate_limit_exceeded',
    retryAfterS: 60,
  });
  t.match(credentials.consume('key_2'), { remaining: 1 });
});

t.test('the wait never exceeds the length of a window', async (t) => {
  let nowMs = 6_000;
  const now = () => {
    nowMs += 0.001;
    return nowMs;
  };
  const limiter = new RateLimiter({ requests: 2, seconds: 60 }, { now });
  const states = await Promise.all(
    Array.from({ length: 1_000 }, (_, index) => limiter.consume(`key_${index}`)),
  );
  t.same([...new Set(states.map((state) => state?.resetS))], [60]);
});

t.test('an address has ten times as much, however it is written', async (t) => {
  const { addresses } = createRateLimits({ requests: 1, seconds: 60 });
  for (let i = 0; i < 5; i++) {
    await addresses.consume('10.0.0.1');
    await addresses.consume('0000:0000:0000:0000:0000:ffff:0a00:0001');
  }
  t.equal(await refusal(() => addresses.consume('::ffff:10.0.0.1')), 'rate_limit_exceeded');
  t.match(addresses.consume('10.0.0.2'), { limit: 10, remaining: 9 });
});

t.test('a window begins with the first request of a key, and ends', async (t) => {
  let nowMs = 1_000_000;
  const limiter = new RateLimiter({ requests: 2, seconds: 10 }, { now: () => nowMs });
  t.same(limiter.consume('key_1'), { limit: 2, remaining: 1, resetS: 10 });
  nowMs += 4_500;
  t.same(limiter.consume('key_1'), { limit: 2, remaining: 0, resetS: 6 });
  t.same(limiter.consume('key_2'), { limit: 2, remaining: 1, resetS: 10 });
  nowMs += 5_499;
  t.match(await refused(() => limiter.consume('key_1')), { retryAfterS: 1 }, 'a millisecond before its end');
  nowMs += 1;
  t.same(limiter.consume('key_1'), { limit: 2, remaining: 1, resetS: 10 }, 'asking did not make it longer');
});

t.test('callers beyond count push out the one that was seen longest ago', async (t) => {
  const limiter = new RateLimiter({ requests: 1, seconds: 60 });
  await limiter.consume('first');
  for (let n = 0; n < 99_999; n++) await limiter.consume(`key_${n}`);
  t.equal(await refusal(() => limiter.consume('first')), 'rate_limit_exceeded');
  for (let n = 0; n < 100_000; n++) await limiter.consume(`other_${n}`);
  t.match(limiter.consume('first'), { remaining: 0 });
});

t.test('a rate limit that is switched off limits no request', async (t) => {
  const { credentials, addresses } = createRateLimits(null);
  t.equal(credentials.consume('key_1'), undefined);
  t.equal(addresses.consume('10.0.0.1'), undefined);
});

t.test('the key that an address is counted under', async (t) => {
  const networks = {
    '127.0.0.1': '127.0.0.1',
    '::ffff:127.0.0.1': '127.0.0.1',
    '0000:0000:0000:0000:0000:ffff:7f00:0001': '127.0.0.1',
    '::1': '0:0:0:0::/64',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
    '2001:db8:1:2::9': '2001:db8:1:2::/64',
    '2001:0db8:0001:0002:ffff:0000:0000:0009': '2001:db8:1:2::/64',
    'fe80::1%eth0': 'fe80:0:0:0::/64',
  };
  for (const [address, network] of Object.entries(networks)) t.equal(networkOf(address), network, address);
});
