/**
 * The audit of an account that moves to another installation
 * (src/core/audit/DECISIONS.md#a-moved-audit-goes-on-under-both-keys).
 */

import t, { type Test } from 'tap';
import { type AuditHandover, type AuditHead, GENESIS, TamperedError } from '../../src/core/audit/chain.ts';
import { readAuditAge, readHead } from '../../src/core/audit/chain-store.ts';
import { type HandedOver, handOver, saveHandover } from '../../src/core/audit/handover.ts';
import { blankDetails, purgeAudit } from '../../src/core/audit/retention.ts';
import { type Signed, type SigningKey, TrustedKeys } from '../../src/core/audit/signing-key.ts';
import { type Verification, verifyExport } from '../../src/core/audit/verify.ts';
import { newSigningKey, openStand, TestChain } from './fixture.ts';

const { database, signingKey: former } = await openStand(t);
const next = await newSigningKey(t);
const stranger = await newSigningKey(t);

t.test('a chain goes on under the new key, and what the former one signed stays valid', async (t) => {
  const { chain, kept } = await lived();
  const { handover, head } = await move(chain);
  t.match(handover, {
    account_id: chain.accountId,
    number: 7,
    hash: kept.hash,
    from_key_id: former.id,
    to_key_id: next.id,
    from_cell: CELLS.fromCell,
    to_cell: CELLS.toCell,
  });
  t.match(head, { number: 7, hash: kept.hash, key_id: next.id });
  t.equal(await chain.unsealed(), 0, 'what the former installation left is sealed with it');
  await chain.act(2);
  await chain.seal(next);
  const later = (await readHead(database, chain.accountId)).head!;
  for (const keys of [[next], [former], [former, next]]) {
    t.match(await check(await chain.lines(), keys, [kept, head, later]), {
      links: 9,
      purged: 2,
      erased: 1,
      handovers: 1,
      heads_contained: 3,
      head: { number: 11, key_id: next.id },
    });
  }
  const [, second, third] = (await chain.lines()).map((line) => JSON.parse(line).object);
  t.strictSame([second, third], ['audit_handover', 'audit_checkpoint']);
  await t.rejects(check(await chain.lines(), [stranger]), {
    message: `The hand-over of link 7 is signed by the keys ${former.id} and ${next.id}, which are not among the given ones.`,
  });
  await chain.act(1);
  await t.rejects(chain.seal(former), { message: /which this node does not know/ });
});

t.test('the new installation erases and purges what the former one sealed', async (t) => {
  const { chain, held } = await lived();
  await move(chain);
  await chain.act(1);
  await chain.seal(next);
  const { accountId } = chain;
  const purge = () => database.transaction((tx) => purgeAudit(tx, next, { accountId, days: 0, limit: 100 }));
  t.equal(await purge(), 6, 'all but a link that is held, and the hand-over');
  t.equal(await readAuditAge(database, accountId), null, 'neither is late');
  t.match(await check(await chain.lines(), [former]), { links: 2, purged: 8 });
  await chain.tamper(`UPDATE conversations SET legal_hold = 'released' WHERE account_id = $1`);
  await database.transaction((tx) => blankDetails(tx, next, accountId, { conversationId: held }));
  t.match(await check(await chain.lines(), [next]), { links: 2, purged: 8, erased: 1 });
  t.equal(await purge(), 1);
  t.match(await check(await chain.lines(), [next]), { links: 1, purged: 9, handovers: 1 });
  await fails(t, (await chain.lines()).filter(isNoHandover), [former, next], CUT);

  const { chain: other, kept } = await lived();
  await other.tamper(`UPDATE conversations SET legal_hold = 'released' WHERE account_id = $1`);
  await other.tamper(
    `UPDATE audit_chains SET head = $2::jsonb WHERE account_id = $1`,
    JSON.stringify(headBy(next, other, kept.number, kept.hash)),
  );
  await t.rejects(
    database.transaction((tx) => purgeAudit(tx, next, { accountId: other.accountId, days: 0, limit: 100 })),
    { message: /^a checkpoint of the audit is not one that a known key has signed/ },
    'of another account the former key signs nothing',
  );
});

t.test('keys that the former installation used before come with it', async (t) => {
  const { chain } = await lived();
  const successor = await newSigningKey(t, [former.publicKey]);
  await chain.seal(successor);
  await move(chain, successor);
  const { accountId } = chain;
  t.match(await check(await chain.lines(), [next]), { purged: 2, erased: 1 });
  t.equal(
    await database.transaction((tx) => purgeAudit(tx, next, { accountId, days: 0, limit: 1 })),
    1,
    'next to a checkpoint of the oldest key',
  );
  t.match(await check(await chain.lines(), [successor]), { purged: 3 });
});

t.test('a chain without links is handed over as well', async (t) => {
  const chain = await TestChain.create(database, former);
  const empty = former.sign({
    object: 'audit_head',
    account_id: chain.accountId,
    number: 0,
    hash: GENESIS,
    signed_at: 'x',
  });
  t.match(await move(chain), { handover: { number: 0, hash: GENESIS }, head: { number: 0 } });
  t.match(await check(await chain.lines(), [former], [empty]), { links: 1, heads_contained: 1 });
});

t.test('several moves are a chain, to which any of its keys leads', async (t) => {
  const { chain, kept } = await lived();
  const third = await newSigningKey(t);
  const { head } = await move(chain);
  const back = await move(chain, next, former);
  await chain.act(1);
  await chain.seal(former);
  await move(chain, former, third);
  const lines = await chain.lines();
  for (const key of [former, next, third]) {
    t.match(await check(lines, [key], [kept, head, back.head]), { handovers: 3, heads_contained: 3 });
  }
  const { number, hash } = back.head;
  await fails(t, lines, [former], /^The kept head of link \d+ .* did not have the account/, [
    headBy(next, chain, number + 1, hash),
  ]);
  await fails(t, swapped(lines, 1, 2), [third], /^The hand-over of link 7 is out of place: that of link \d+/);
  for (const at of [1, 2, 3]) await fails(t, lines.toSpliced(at, 1), [former, next, third], /hand-over/);
});

t.test('an installation may replace its key while it has the account', async (t) => {
  const { chain } = await lived();
  await move(chain);
  const replaced = await newSigningKey(t, [next.publicKey]);
  await chain.act(1);
  await chain.seal(replaced);
  const third = await newSigningKey(t);
  await t.rejects(move(chain, replaced, former), {
    message: `The hand-over of link 10 is by the key ${replaced.id}, which did not have the account then: the hand-over before it is to the key ${next.id}.`,
  });
  await move(chain, replaced, third);
  const lines = await chain.lines();
  t.match(await check(lines, [third]), { handovers: 2 });
  t.match(await check(lines, [former, replaced]), { handovers: 2 });
  await fails(t, lines, [former], /^The hand-over of link 10 is by the key \w+, which did not have/);
});

t.test('what is handed over must be what was signed, and what is there', async (t) => {
  const { chain } = await lived();
  const end = await readHead(database, chain.accountId);
  const options = { accountId: chain.accountId, chain: end, former, next, ...CELLS };
  t.throws(() => handOver({ ...options, former: stranger }), { message: /which this node does not know/ });
  const changed = { ...end, head: { ...end.head!, number: 3 } };
  t.throws(() => handOver({ ...options, chain: changed }), { message: /is not the one that was signed/ });
  const save = (handed: HandedOver, key = next) =>
    database.transaction((tx) => saveHandover(tx, key, handed));
  const handed = handOver(options);
  await t.rejects(save({ ...handed, head: headBy(stranger, chain, 7, handed.head.hash) }), {
    message: 'the head is not the one of the hand-over',
  });
  await t.rejects(save({ ...handed, handover: { ...handed.handover, to_cell: 'https://c.example' } }), {
    message: 'The hand-over of link 7 was changed: the signature of its former key is not valid.',
  });
  await t.rejects(save(handed, stranger), { message: /which are not among the given ones/ });
  await chain.seal();
  await t.rejects(save(handed), {
    message: 'the audit here ends with link 8, and is not the one that was handed over at link 7',
  });
  t.match(await chain.verify(), { handovers: 0 }, 'nothing of it is left');
});

t.test('a hand-over that does not fit is found', async (t) => {
  const { chain } = await lived();
  const { handover } = await move(chain);
  await chain.act(2);
  await chain.seal(next);
  const lines = await chain.lines();
  const both = [former, next];
  const found = (instead: object | undefined, message: RegExp, keys = both) =>
    fails(
      t,
      lines.toSpliced(1, 1, ...(instead === undefined ? [] : [JSON.stringify(instead)])),
      keys,
      message,
    );
  for (const keys of [[former], both]) await found(undefined, CUT, keys);
  await found(undefined, /^The checkpoint .* is signed by the key \w+, which is not among/, [next]);
  const [one, two] = handover.signatures;
  for (const signatures of [[one], undefined, [one, two, two]]) {
    await found({ ...handover, signatures }, /^The hand-over of link 7 does not have two signatures/);
  }
  const forged = stranger.sign({ object: 'audit_handover' }).signature;
  await found({ ...handover, signatures: [one, one] }, /: the signature of its new key is not valid/);
  await found({ ...handover, signatures: [one, forged] }, /: the signature of its new key is not valid/);
  await found({ ...handover, signatures: [forged, two] }, /: the signature of its former key is not valid/);
  await found({ ...handover, note: 1 }, /: the signature of its former key is not valid/);
  await found({ ...handover, from_public_key: 'x' }, /was changed: it names a key that is none/);
  await found({ ...handover, object: 'audit_hand' }, /^Line 2 is neither a link/);
  const { chain: other } = await lived();
  await found((await move(other)).handover, /^The hand-over of link 7 is that of another account/);
  await fails(t, swapped(lines, 1, 2), both, /^Line 3 is a hand-over behind the first link/);

  const signed = (number: number, hash: string, from = former, to = next) =>
    handOver({
      accountId: chain.accountId,
      former: from,
      next: to,
      ...CELLS,
      chain: { head: headBy(from, chain, number, hash), now: '' },
    }).handover;
  await found(signed(7, GENESIS), /^The hand-over of link 7 was signed for another chain/);
  await found(signed(6, handover.hash), /^The hand-over of link 6 was signed for another chain/);
  const toLink7 = lines.slice(2, 7 + 1);
  const last = headBy(former, chain, 7, handover.hash);
  await fails(
    t,
    [lines[0]!, JSON.stringify(signed(99, handover.hash)), ...toLink7, JSON.stringify(last)],
    both,
    /^The chain ends with link 7, before the hand-over of link 99: its newest links were cut/,
  );
  await fails(
    t,
    [...lines.slice(0, 2), ...toLink7, JSON.stringify(last)],
    both,
    /^A hand-over is not in the chain: no link names it/,
  );
});

t.test('a former key signs nothing behind the hand-over, and the new one no head before it', async (t) => {
  const { chain, held } = await lived();
  const { handover } = await move(chain);
  await chain.act(3, held);
  await chain.seal(next);
  const lines = await chain.lines();
  const { number, hash } = JSON.parse(lines.at(-1)!) as AuditHead;
  const both = [former, next];
  const replaced = (at: number, document: object) => lines.with(at, JSON.stringify(document));
  const OTHER_TERM = new RegExp(`is signed by the key ${former.id}, whose installation did not have`);

  await fails(t, replaced(-1, headBy(former, chain, number, hash)), [former], OTHER_TERM);
  await fails(t, lines, both, OTHER_TERM, [headBy(former, chain, number, hash)]);
  const link = JSON.parse(lines.at(-2)!);
  const note = { object: 'audit_erasure', account_id: chain.accountId, number, signed_at: 'x' } as const;
  const erased = { ...link, details: {}, salt: null };
  t.match(await check(replaced(-2, { ...erased, erasure: next.sign(note) }), [former]), { erased: 2 });
  await fails(t, replaced(-2, { ...erased, erasure: former.sign(note) }), both, OTHER_TERM);
  const run = {
    object: 'audit_checkpoint',
    account_id: chain.accountId,
    first: number,
    last: number,
  } as const;
  const checkpoint = { ...run, hash, signed_at: 'x' };
  t.match(await check(replaced(-2, next.sign(checkpoint)), [former]), { purged: 3 });
  await fails(t, replaced(-2, former.sign(checkpoint)), both, OTHER_TERM);

  const early = JSON.parse(lines[6]!);
  await fails(t, lines, both, /^The kept head .* did not have the account at link 6/, [
    headBy(next, chain, early.number, early.hash),
  ]);

  // Further hand-overs that a thief of the former key can sign.
  const signed = (at: number, link: string, from: SigningKey, to: SigningKey) =>
    handOver({
      accountId: chain.accountId,
      former: from,
      next: to,
      ...CELLS,
      chain: { head: headBy(from, chain, at, link), now: '' },
    }).handover;
  const inserted = (at: number, more: readonly AuditHandover[]) =>
    lines.toSpliced(at, 0, ...more.map((document) => JSON.stringify(document)));
  const heir = await newSigningKey(t, [next.publicKey]);
  const NOT_ITS = /^The hand-over of link \d+ is by the key \w+, which did not have the account then/;
  await fails(t, inserted(2, [signed(number, hash, former, stranger)]), both, NOT_ITS);
  await fails(t, inserted(2, [signed(number, hash, heir, former)]), both, NOT_ITS);
  await fails(
    t,
    inserted(2, [signed(number - 1, link.hash, heir, stranger), signed(number, hash, stranger, former)]),
    both,
    NOT_ITS,
  );
  const third = await newSigningKey(t);
  const { signatures, ...content } = signed(number, hash, former, third);
  const claiming = { ...content, from_old_public_keys: [next.publicKey] };
  const again = {
    ...claiming,
    signatures: [former.sign(claiming).signature, third.sign(claiming).signature],
  } as const;
  await fails(t, inserted(2, [again]), [next, third], NOT_ITS);
  await fails(t, inserted(1, [signed(6, early.hash, former, stranger)]), both, NOT_ITS);
  await fails(
    t,
    inserted(1, [signed(6, early.hash, stranger, former)]),
    [next],
    /^A hand-over is not in the chain: no link names it/,
  );
  t.equal(handover.number, 7);
});

t.test('any flipped bit of a hand-over is found', async (t) => {
  const chain = await TestChain.create(database, former);
  await chain.act(1);
  await chain.seal();
  await move(chain);
  const lines = await chain.lines();
  // Without the link that names it, only the signatures protect it.
  const alone = [...lines.slice(0, 2), lines[2]!];
  const line = Buffer.from(lines[1]!);
  const passed: string[] = [];
  for (let bit = 0; bit < line.length * 8; bit++) {
    const flipped = Buffer.from(line);
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    const text = flipped.toString().split('\n');
    const error = await check(alone.toSpliced(1, 1, ...text), [former, next]).catch((error) => error);
    // The whole line leads on to what is missing behind it.
    if (!(error instanceof TamperedError) || /^The head is missing/.test(error.message))
      passed.push(text.join('\n'));
  }
  t.strictSame(passed, []);
  await fails(t, alone, [former, next], /^The head is missing behind link 1/);
});

const CELLS = { fromCell: 'https://a.example', toCell: 'https://b.example' };
const CUT = /^Link \d+ .* names a hand-over that is not in the file: it was cut out or changed/;

/**
 * A chain of 7 sealed links, of which 2 are purged, 1 is erased and 1 is held, and one event that
 * is not sealed; `kept` is its head.
 */
async function lived() {
  const chain = await TestChain.create(database, former);
  const { accountId } = chain;
  const [held, erased] = [await chain.createConversation('held'), await chain.createConversation()];
  await chain.act(2);
  await chain.act(1, held);
  await chain.act(1, erased);
  await chain.act(3);
  await chain.seal();
  await database.transaction((tx) => blankDetails(tx, former, accountId, { conversationId: erased }));
  await database.transaction((tx) => purgeAudit(tx, former, { accountId, days: 0, limit: 2 }));
  await chain.act(1);
  return { chain, held, kept: (await readHead(database, accountId)).head! };
}

/** Moves the chain: the rows of both installations are in one database. */
async function move({ accountId }: TestChain, from = former, to = next): Promise<HandedOver> {
  const chain = await readHead(database, accountId);
  const handed = handOver({ accountId, chain, former: from, next: to, ...CELLS });
  await database.transaction((tx) => saveHandover(tx, to, handed));
  return handed;
}

function check(
  lines: readonly string[],
  keys: readonly SigningKey[],
  heads: readonly object[] = [],
): Promise<Verification> {
  const trusted = new TrustedKeys(keys.map(({ publicKey }) => publicKey));
  return verifyExport({ lines, trusted, heads });
}

async function fails(
  t: Test,
  lines: readonly string[],
  keys: readonly SigningKey[],
  message: RegExp,
  heads: readonly object[] = [],
): Promise<void> {
  const refused = check(lines, keys, heads);
  await t.rejects(refused, { message });
  await refused.catch((error) => t.ok(error instanceof TamperedError, message.source));
}

function headBy(key: SigningKey, { accountId }: TestChain, number: number, hash: string): Signed<AuditHead> {
  return key.sign({ object: 'audit_head', account_id: accountId, number, hash, signed_at: 'x' } as const);
}

function isNoHandover(line: string): boolean {
  return JSON.parse(line).object !== 'audit_handover';
}

function swapped(lines: readonly string[], a: number, b: number): string[] {
  return lines.with(a, lines[b]!).with(b, lines[a]!);
}
