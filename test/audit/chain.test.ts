/**
 * The chain of the audit (src/core/audit/DECISIONS.md#the-audit-is-one-chain-an-account): sealing,
 * erasing, purging, verifying.
 */

import t from 'tap';
import { createNodeMetrics } from '../../src/app/metrics.ts';
import { audit } from '../../src/core/audit/audit.ts';
import { readPendingChains } from '../../src/core/audit/chain-store.ts';
import { blankDetails, purgeAudit } from '../../src/core/audit/retention.ts';
import { Sealer, sealRows } from '../../src/core/audit/sealer.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import type { Tx } from '../../src/platform/db/connection/handle.ts';
import { tampered } from '../campaigns/audit.ts';
import { NO_WATCH } from '../support/timeline.ts';
import { until } from '../support/until.ts';
import { log, newSigningKey, openStand, TestChain } from './fixture.ts';
import { TAMPERINGS } from './tampering.ts';

const { url, database, signingKey } = await openStand(t);

t.test('rows are sealed behind their commits, in one chain an account', async (t) => {
  const chain = await newChain();
  const other = await newChain();
  await chain.act(3);
  await other.act(1);
  t.equal(await chain.seal(), 3);
  t.equal(await chain.seal(), 0, 'nothing is sealed twice');
  t.match(await chain.verify(), { links: 3, head: { number: 3, account_id: chain.accountId } });
  t.match(await other.verify(), { links: 0, head: null }, 'another account is not concerned');

  // One transaction inserts first and commits last.
  const slow = openTransaction((tx) => audit(tx, event(chain, 'slow')));
  await slow.began;
  await chain.act(2);
  t.equal(await chain.seal(), 2, 'what is not committed is not waited for');
  slow.commit();
  await slow.ended;
  await chain.act(1);
  t.equal(await chain.seal(), 2);
  const details = (await chain.lines()).slice(4, -1).map((line) => JSON.parse(line).details);
  t.match(
    details,
    [{ n: 3 }, { n: 4 }, { who: 'slow' }, { n: 5 }],
    'and follows, in front of what it preceded',
  );
  t.match(await chain.verify(), { links: 7, purged: 0, erased: 0 });

  await database
    .transaction((tx) => audit(tx, event(chain, 'rolled back')).then(() => Promise.reject()))
    .catch(() => 0);
  t.equal(await chain.seal(), 0);
});

t.test('rows from before the chain come first, and are not late', async (t) => {
  const chain = await newChain();
  await chain.act(2);
  await chain.tamper(
    `UPDATE audit_events SET position = NULL, created_at = created_at - interval '1 year' * (details->>'n')::integer
     WHERE account_id = $1`,
  );
  const pending = async () => {
    const chains = await readPendingChains(database, '', 1_000);
    return chains.find(({ account_id }) => account_id === chain.accountId)?.seconds;
  };
  t.equal(await pending(), null);
  await chain.act(1);
  await chain.seal();
  const numbers = (await chain.lines()).slice(1, -1).map((line) => JSON.parse(line).details.n);
  t.strictSame(numbers, [1, 0, 2], 'the oldest first');
  await chain.act(1);
  t.type(await pending(), 'number');
});

t.test('two nodes that seal at once neither fork the chain nor wait for each other', async (t) => {
  const chain = await newChain();
  await chain.act(1);
  await chain.seal();
  await chain.act(4);
  const second = await openDatabase({ url, log });
  t.teardown(() => second.close());
  const holder = openTransaction((tx) => sealRows(tx, signingKey, chain.accountId, 2));
  await holder.began;
  t.equal(await second.transaction((tx) => sealRows(tx, signingKey, chain.accountId)), undefined);
  holder.commit();
  await holder.ended;
  await Promise.all(
    Array.from({ length: 6 }, async (_, i) => {
      await chain.act(2);
      await (i % 2 === 0 ? database : second).transaction((tx) =>
        sealRows(tx, signingKey, chain.accountId, 3),
      );
    }),
  );
  while ((await chain.seal()) > 0);
  t.match(await chain.verify(), { links: 17 });
});

t.test('a head that was tampered with is not built upon', async (t) => {
  const chain = await newChain();
  await chain.act(2);
  await chain.seal();
  await chain.act(1);
  await chain.tamper(`UPDATE audit_chains SET head = head || '{"number": 1}' WHERE account_id = $1`);
  await t.rejects(chain.seal(), { message: /is not the one that was signed/ });
  await chain.tamper(`UPDATE audit_chains SET head = head || '{"number": 2}' WHERE account_id = $1`);

  const stranger = await newSigningKey(t);
  await t.rejects(chain.seal(stranger), { message: /set PARLEY_AUDIT_KEY .* add its public key .{43} to/ });
  const successor = await newSigningKey(t, [signingKey.publicKey]);
  t.equal(await chain.seal(successor), 1, 'a new key goes on where the old one is known');
  const keys = [successor.publicKey, signingKey.publicKey];
  t.match(await chain.verify([], keys), { links: 3, head: { key_id: successor.id } });
  await t.rejects(chain.verify(), { message: /^The head is signed by the key \w{16}, which is not among/ });
});

t.test('details can be erased, and the chain verifies without them', async (t) => {
  const chain = await newChain();
  const [mine, held] = [await chain.createConversation(), await chain.createConversation('held')];
  await chain.act(2, mine);
  await chain.act(1, held);
  await chain.seal();
  await chain.act(1, mine);
  const erase = (conversationId: string) =>
    database.transaction((tx) => blankDetails(tx, signingKey, chain.accountId, { conversationId }));
  t.strictSame([await erase(mine), await erase(held), await erase(mine)], [3, 0, 0], 'what is held stays');
  await chain.seal();
  const text = (await chain.lines()).join('\n');
  t.notMatch(text, /Title [013]/);
  t.match(text, /Title 2/);
  t.match(await chain.verify(), { links: 4, erased: 2 }, 'the last had none when it was sealed');

  const found = (message: RegExp) => t.rejects(chain.verify(), { message });
  await chain.tamper(`UPDATE audit_events SET details = '{"from":"x"}' WHERE account_id = $1 AND number = 1`);
  await found(/^Link 1 .* has details that were added/);
  await chain.tamper(`UPDATE audit_events SET details = '{}' WHERE account_id = $1 AND number = 1`);
  await chain.tamper(
    `UPDATE audit_events e SET details = '{}', salt = NULL, erasure = (SELECT erasure FROM audit_events WHERE account_id = $1 AND number = 1)
     WHERE account_id = $1 AND number = 3`,
  );
  await found(/^Link 3 .* added after the erasure/);
  await chain.tamper('UPDATE audit_events SET erasure = NULL WHERE account_id = $1 AND number = 3');
  await found(/^Link 3 .* has lost its details, and nothing states/);
});

t.test('a signed checkpoint takes the place of what is purged', async (t) => {
  const chain = await newChain();
  const held = await chain.createConversation('held');
  await chain.act(3);
  await chain.act(1, held);
  await chain.act(3);
  await chain.seal();
  const { head } = await chain.verify();
  await chain.act(1);
  const purge = (limit: number, days = 0) =>
    database.transaction((tx) => purgeAudit(tx, signingKey, { accountId: chain.accountId, days, limit }));
  t.equal(await purge(100, 1), 0);
  t.equal(await purge(2), 2);
  t.match(await chain.verify(), { links: 5, purged: 2 });
  t.equal(await purge(100), 4, 'neither what is held nor what is not sealed');
  t.match(await chain.verify([head!]), { links: 1, purged: 6, heads_contained: 1, heads_purged: 0 });
  t.strictSame(
    await kinds(chain),
    ['export', 'checkpoint', 'link', 'checkpoint', 'head'],
    'one for each run',
  );
  await chain.seal();
  await chain.tamper(`UPDATE conversations SET legal_hold = 'released' WHERE account_id = $1`);
  t.equal(await purge(100), 2);
  t.match(await chain.verify([head!]), { links: 0, purged: 8, heads_purged: 1, head: { number: 8 } });
  t.strictSame(await kinds(chain), ['export', 'checkpoint', 'head']);
  await chain.act(1);
  await chain.seal();
  t.match(await chain.verify(), { links: 1, head: { number: 9 } }, 'and the numbers go on');
});

t.test('a purge does not cover up what was tampered with', async (t) => {
  const chain = await newChain();
  await chain.act(4);
  await chain.seal();
  const purge = (days: number, limit = 9) =>
    database.transaction((tx) => purgeAudit(tx, signingKey, { accountId: chain.accountId, days, limit }));
  await chain.tamper(
    `UPDATE audit_events SET created_at = created_at - interval '9 years' WHERE account_id = $1 AND number = 2`,
  );
  await t.rejects(purge(1), { message: 'link 2 of the audit was changed: it is not purged' });
  await chain.tamper(
    `UPDATE audit_events SET created_at = created_at + interval '9 years' WHERE account_id = $1 AND number = 2`,
  );
  t.equal(await purge(0, 2), 2);
  await chain.tamper(
    `UPDATE audit_checkpoints SET checkpoint = checkpoint || '{"signed_at":"2020-01-01T00:00:00Z"}' WHERE account_id = $1`,
  );
  await t.rejects(purge(0), { message: /^a checkpoint of the audit is not one/ });
  t.match(await chain.lines(), { length: 5 }, 'nothing is gone');
});

t.test('a short run of the campaign of the audit', async (t) => {
  const figures = await tampered(t, { seed: 3, tamperings: 2 * Object.keys(TAMPERINGS).length });
  t.strictSame(figures.problems, []);
  t.equal(Object.keys(figures.found).length, Object.keys(TAMPERINGS).length);
});

t.test('the sealer of a node', async (t) => {
  const chain = await newChain();
  const stuck = await newChain();
  await stuck.act(1);
  await stuck.seal(await newSigningKey(t));
  await stuck.act(1);
  await stuck.tamper(
    `UPDATE audit_events SET created_at = created_at - interval '1 minute' WHERE account_id = $1`,
  );
  await database.transaction((tx) => Promise.all(Array.from({ length: 600 }, () => chain.actIn(tx))));
  const metrics = createNodeMetrics();
  const lines: unknown[] = [];
  const listening = Object.assign(Object.create(log), {
    info: (fields: object, message: string) => lines.push(['info', message, fields]),
    error: (fields: object, message: string) => lines.push(['error', message, fields]),
  });
  const sealer = new Sealer({ database, signingKey, watch: NO_WATCH, metrics, log: listening });
  t.teardown(() => sealer.close());
  sealer.wake();
  await until(async () => (await chain.verify()).links === 600, { what: 'every row to be sealed' });
  await until(() => lines.length >= 2, { what: 'the alarm' });
  const ofChain = lines.find((line) => JSON.stringify(line).includes(chain.accountId));
  t.match(ofChain, ['info', 'head of the audit', { audit_head: { object: 'audit_head', number: 500 } }]);
  t.match(
    lines.find((line) => JSON.stringify(line).includes(stuck.accountId)),
    ['error', 'rows of the audit are not sealed', { reason: /which this node does not know/ }],
  );
  const { values } = await metrics.auditUnsealedSeconds.get();
  t.ok(Number(values[0]?.value) >= 60, 'the oldest row that is not sealed is a minute old');
  t.ok(Number((await metrics.auditSealed.get()).values[0]?.value) >= 600);
});

function newChain(): Promise<TestChain> {
  return TestChain.create(database, signingKey);
}

function event({ accountId }: TestChain, who: string) {
  return {
    accountId,
    conversationId: null,
    actorId: null,
    action: 'conversation.created',
    details: { who },
  } as const;
}

async function kinds(chain: TestChain): Promise<string[]> {
  return (await chain.lines()).map((line) => JSON.parse(line).object.replace('audit_', ''));
}

/** A transaction that stays open until `commit` is called. */
function openTransaction(work: (tx: Tx) => Promise<unknown>) {
  const { promise: released, resolve: commit } = Promise.withResolvers<void>();
  const { promise: began, resolve: begin } = Promise.withResolvers<void>();
  const ended = database.transaction(async (tx) => {
    await work(tx);
    begin();
    await released;
  });
  return { began, commit, ended };
}
