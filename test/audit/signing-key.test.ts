/** The key that signs the audit and exports (docs/operations.md#the-audit-key). */

import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { KEY_FILE, SigningKey, TrustedKeys } from '../../src/core/audit/signing-key.ts';
import { freshDirectory } from '../start/parley.ts';

const HEAD = { object: 'audit_head', number: 3, note: 'ä', absent: null };

t.test('a key is made once in the data directory, for its owner alone', async (t) => {
  const dataDir = join(freshDirectory(t), 'data');
  const nodes = await Promise.all(Array.from({ length: 8 }, () => open({ dataDir })));
  t.equal(new Set(nodes.map(({ id }) => id)).size, 1, 'nodes that start together share it');
  t.strictSame(readdirSync(dataDir), [KEY_FILE], 'nothing is left over');
  t.equal(statSync(join(dataDir, KEY_FILE)).mode & 0o777, 0o600);
  const [first] = nodes;
  const second = await open({ dataDir });
  t.equal(second.trusted.verify(first!.sign(HEAD)), 'valid');
});

t.test('what it signed is valid, and nothing else is', async (t) => {
  const key = await open({ dataDir: freshDirectory(t) });
  const signed = key.sign(HEAD);
  t.match(signed, { ...HEAD, key_id: /^[0-9a-f]{16}$/, public_key: /^[\w-]{43}$/ });
  const outsider = new TrustedKeys([signed.public_key]);
  t.equal(outsider.verify(JSON.parse(JSON.stringify(signed))), 'valid');
  const { note, ...rest } = signed;
  t.equal(outsider.verify({ note, ...rest }), 'valid', 'the order of fields does not count');
  t.equal(outsider.verify(rest), 'invalid', 'a field is missing');
  t.equal(outsider.verify({ ...signed, number: 4 }), 'invalid');
  t.equal(outsider.verify({ ...signed, object: 'audit_checkpoint' }), 'invalid');
  t.equal(outsider.verify({ ...signed, more: 1 }), 'invalid');
  t.equal(outsider.verify({ ...signed, signature: null }), 'invalid');
  const padded = { ...signed, signature: `${signed.signature}==` };
  t.equal(outsider.verify(padded), 'invalid', 'a signature has one spelling');
  const stranger = await open({ dataDir: freshDirectory(t) });
  t.equal(outsider.verify(stranger.sign(HEAD)), 'unknown_key');
  t.equal(outsider.verify({ ...stranger.sign(HEAD), key_id: key.id }), 'invalid');
});

t.test('a key of the environment, and one of before', async (t) => {
  const dataDir = freshDirectory(t);
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const seed = Buffer.from(privateKey.export({ format: 'jwk' }).d!, 'base64url').toString('base64');
  const [asPem, escaped, asSeed] = await Promise.all(
    [pem, pem.replaceAll('\n', '\\n'), seed].map((key) => open({ dataDir, key })),
  );
  t.same([escaped?.id, asSeed?.id], [asPem?.id, asPem?.id]);
  t.strictSame(readdirSync(dataDir), [], 'no key is made');
  const before = await open({ dataDir });
  const rotated = await open({ dataDir, key: seed, oldKeys: [before.publicKey] });
  t.equal(rotated.id, asPem?.id);
  t.equal(rotated.trusted.verify(before.sign(HEAD)), 'valid');
  t.equal(asPem?.trusted.verify(before.sign(HEAD)), 'unknown_key');
});

t.test('a key that is none, or cannot be kept, is refused with what to do', async (t) => {
  const dataDir = freshDirectory(t);
  const accepted = /must be a private ed25519 key: PEM .* or base64 of its 32 bytes/;
  await t.rejects(open({ dataDir, key: 'c2hvcnQ=' }), { message: accepted });
  const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey;
  const pem = rsa.export({ type: 'pkcs8', format: 'pem' }).toString();
  await t.rejects(open({ dataDir, key: pem }), { message: accepted });
  await t.rejects(open({ dataDir, key: null, oldKeys: ['short'] }), { message: /short is not a public/ });
  const path = join(dataDir, KEY_FILE);
  chmodSync(path, 0o600);
  writeFileSync(path, 'torn');
  await t.rejects(open({ dataDir }), { message: /audit-key\.pem must be a private/ });
  t.equal(readFileSync(path, 'utf8'), 'torn', 'it is not replaced');
  await t.rejects(open({ dataDir: join(path, 'below') }), {
    message: /cannot be kept in .*ENOTDIR.*set PARLEY_AUDIT_KEY/,
  });
});

function open({
  dataDir,
  key = null,
  oldKeys = [],
}: {
  readonly dataDir: string;
  readonly key?: string | null;
  readonly oldKeys?: readonly string[];
}): Promise<SigningKey> {
  return SigningKey.open({ key, oldKeys, dataDir });
}
