import { createHash } from 'node:crypto';
import t from 'tap';
import {
  hashApiKey,
  hasValidChecksum,
  newApiKey,
  OPERATOR_KEY_PREFIX,
} from '../../src/api/access/api-keys.ts';

t.test('a key has its form, its hash and a redacted form', async (t) => {
  const { key, hash, redacted } = newApiKey();
  t.match(key, /^parley_[0-9A-Za-z]{38}$/);
  t.ok(hasValidChecksum(key));
  t.equal(redacted, `parley_…${key.slice(-4)}`);
  t.same(hash, createHash('sha256').update(key).digest());
  t.same(hashApiKey(key), hash);
});

t.test('a thousand keys differ, and each passes its own check', async (t) => {
  const keys = Array.from({ length: 1000 }, () => newApiKey().key);
  t.equal(new Set(keys).size, keys.length);
  t.ok(keys.every((key) => hasValidChecksum(key)));
});

t.test('a key of an operator is no API key', async (t) => {
  const { key, redacted } = newApiKey(OPERATOR_KEY_PREFIX);
  t.match(key, /^parleyop_[0-9A-Za-z]{38}$/);
  t.equal(redacted, `parleyop_…${key.slice(-4)}`);
  t.ok(hasValidChecksum(key, OPERATOR_KEY_PREFIX));
  t.notOk(hasValidChecksum(key));
  t.notOk(hasValidChecksum(newApiKey().key, OPERATOR_KEY_PREFIX));
});

t.test('one wrong character anywhere is noticed', async (t) => {
  const { key } = newApiKey();
  const missed = [];
  for (let i = 0; i < key.length; i++) {
    const other = key[i] === 'a' ? 'b' : 'a';
    if (hasValidChecksum(key.slice(0, i) + other + key.slice(i + 1))) missed.push(i);
  }
  t.same(missed, []);
});

t.test('values that are not keys', async (t) => {
  const { key } = newApiKey();
  for (const text of ['', 'parley_', key.slice(0, -1), `${key}a`, `${key}\n`, key.toUpperCase(), ` ${key}`]) {
    t.notOk(hasValidChecksum(text), JSON.stringify(text));
  }
});
