/**
 * `admin audit export` and `admin audit verify` (docs/operations.md#an-audit-that-can-be-trusted).
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { runAdmin } from '../../src/app/admin/run.ts';
import { readConfig } from '../../src/app/config.ts';
import { freshDirectory, runParley } from '../start/parley.ts';
import { log, newSigningKey, openStand, TestChain } from './fixture.ts';

const { url, database, signingKey } = await openStand(t);
const directory = freshDirectory(t);
const file = join(directory, 'audit.jsonl');
const chain = await TestChain.create(database, signingKey);
await chain.act(5);
await chain.seal();
const { head } = await chain.verify();

t.test('the export of a process is verified by another one, without a database', async (t) => {
  const env = { DATABASE_URL: url, PARLEY_DATA_DIR: directory };
  const exported = await runParley(['admin', 'audit', 'export', '--account', chain.accountId], env);
  t.equal(exported.code, 0, exported.stderr);
  t.equal(exported.stdout.trimEnd().split('\n').length, 7);
  writeFileSync(file, exported.stdout);
  const alone = { DATABASE_URL: 'postgres://nowhere.invalid/x' };
  const verified = await runParley(['admin', 'audit', 'verify', '--file', file], alone);
  t.equal(verified.code, 0, verified.stderr);
  t.match(JSON.parse(verified.stdout), {
    object: 'audit_verification',
    account_id: chain.accountId,
    links: 5,
    head,
    remarks: [/^Without a kept head/, /^The public key is that of the export itself/],
  });
  writeFileSync(file, exported.stdout.replace('Title 3', 'Title 8'));
  const tampered = await runParley(['admin', 'audit', 'verify', '--file', file], alone);
  t.equal(tampered.code, 1);
  t.match(tampered.stderr, /^parley: Link 4 \(aud_.*, conversation.renamed, .*\) has other details/);
  writeFileSync(file, exported.stdout);
});

t.test('audit verify compares a file with kept heads and keys', async (t) => {
  const verify = (...options: string[]) => admin('audit', 'verify', '--file', file, ...options);
  const kept = join(directory, 'heads');
  writeFileSync(kept, JSON.stringify(head, null, 2));
  t.match(await verify('--head', kept), { heads_contained: 1, remarks: [] });
  const logged = JSON.stringify({ level: 30, audit_head: head });
  writeFileSync(kept, `${logged}\n${logged}\n`);
  t.match(await verify('--head', kept, '--key', signingKey.publicKey), { heads_contained: 2 });
  const stranger = await newSigningKey(t);
  await t.rejects(verify('--key', stranger.publicKey), {
    message: /^The head is signed by the key \w+, which is not/,
  });
  writeFileSync(kept, JSON.stringify({ ...head, number: 4 }));
  await t.rejects(verify('--head', kept), { message: /^The kept head of link 4 was changed/ });
  writeFileSync(kept, 'nothing');
  await t.rejects(verify('--head', kept), { message: /is not a head/ });
  await t.rejects(verify('--key', 'short'), { message: /short is not a public ed25519 key/ });
  for (const dashed of [`-${'A'.repeat(42)}`, `--${'A'.repeat(41)}`]) {
    await t.rejects(verify('--key', dashed), { message: /^The head is signed by the key \w+, which is not/ });
  }

  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  writeFileSync(kept, JSON.stringify(head));
  await chain.act(1);
  await chain.seal();
  const later = await chain.lines();
  const found = async (text: readonly string[], message: RegExp, ...options: string[]) => {
    writeFileSync(file, text.join('\n'));
    await t.rejects(verify(...options), { message });
  };
  await found([], /^The file is empty/);
  await found(['{}', ...lines], /^The first line is not/);
  await found([...lines.slice(0, -1)], /^The head is missing behind link 5/);
  await found([...lines, lines.at(-1)!], /^Line 8 stands behind the head/);
  await found([lines[0]!, '[]', ...lines.slice(1)], /^Line 2 is not a JSON object/);
  await found([lines[0]!, '{"object":"note"}', ...lines.slice(1)], /^Line 2 is neither a link/);
  await found(
    lines.map((line) => line.replace('"object":"audit_link"', '"object":"audit_link","note":1')),
    /^Link 1 .* has a field note that was not sealed/,
  );
  await found(
    [...later.slice(0, -1), lines.at(-1)!],
    /^The head is that of link 5, but the chain ends with link 6/,
  );
  writeFileSync(kept, later.at(-1)!);
  await found(lines, /before the kept head of link 6: its newest links were cut/, '--head', kept);
});

t.test('the command that shows the key', async (t) => {
  const shown = await admin('audit', 'key');
  t.match(shown, { object: 'audit_key', key_id: /^\w{16}$/, public_key: /^[\w-]{43}$/ });
  t.strictSame(await admin('audit', 'key'), shown);
});

async function admin(...args: string[]): Promise<object | undefined> {
  return runAdmin(args, readConfig({ DATABASE_URL: url, PARLEY_DATA_DIR: directory }), log);
}
