/**
 * The results of every mail of the corpus, and of mails that arrive in every order and more than
 * once.
 */

import type { ParsedMail } from '@parley/mail-reader/parsed-mail.ts';
import { readMailBytes } from '@parley/mail-reader/read-mail.ts';
import { CORPUS } from '@parley/mail-reader/test/corpus/corpus.ts';
import { newId } from '@parley/protocol/ids.ts';
import { sql } from 'kysely';
import t from 'tap';
import { acceptMail } from '../../src/features/mail/incoming/accept.ts';
import { authenticateMail } from '../../src/features/mail/incoming/authentication.ts';
import type { MailHead } from '../../src/features/mail/mails/mail-store.ts';
import { Random } from '../support/random.ts';
import { openAccepting } from './accepting.ts';
import { BECOMES, type Becomes } from './becomes.ts';
import { addBridgedCase, addMail } from './fixture.ts';

const house = await openAccepting(t);
const { database, inbox, owner } = house;

t.test('what becomes of each mail of the corpus', async (t) => {
  const known = await addBridgedCase(owner, inbox.id, { email: 'cleo@customer.example' });
  const ours = await addMail(owner, {
    rfc_id: 'our-mail@harbor.example',
    direction: 'out',
    purpose: 'reply',
    status: 'sent',
    inbox_id: inbox.id,
    conversation_id: known.id,
  });
  const options = {
    ...house.options,
    authenticate: (arrival: Parameters<typeof authenticateMail>[1]) =>
      authenticateMail({ store: house.options.store, authserv: 'mx.harbor.example' }, arrival),
  };
  const found: Record<string, Becomes> = {};
  for (const { name, source } of CORPUS) {
    // A report ends the mail that it is about.
    const recipients = JSON.stringify([
      { address: 'cleo@customer.example', kind: 'to', status: 'sent', code: null },
    ]);
    await database.kysely
      .updateTable('mails')
      .set({ status: 'sent', recipients })
      .where('id', '=', ours.id)
      .execute();
    const row = await acceptMail(options, { ...house.arrivalOf(), mail: await parsed(source()) });
    found[name] = becomesOf(row, known.id);
  }
  t.strictSame(found, BECOMES);
  const messages = await house.messagesOf(known.id);
  t.strictSame(
    messages.filter(({ visibility }) => visibility === 'external').length,
    Object.values(BECOMES).filter(
      ({ conversation, purpose }) => conversation === 'known' && purpose === 'message',
    ).length,
  );
});

function becomesOf({ status, purpose, reason, conversation_id }: MailHead, knownId: string): Becomes {
  const conversation = conversation_id === null ? null : conversation_id === knownId ? 'known' : 'new';
  return { status, purpose, reason, conversation };
}

async function parsed(source: Buffer): Promise<ParsedMail> {
  const attachments: { key: string; filename: string; contentType: string; sizeBytes: number }[] = [];
  const mail = await readMailBytes(
    (async function* () {
      yield source;
    })(),
    {
      begin: async (part) => void attachments.push({ ...part, key: newId('upload'), sizeBytes: 0 }),
      write: async (bytes) => {
        attachments.at(-1)!.sizeBytes += bytes.length;
      },
      end: async () => {},
    },
  );
  return { ...mail, attachments, unread: null };
}

const ROUNDS = 300;

t.test('in every order, twice, and with nodes that die in between, each mail is one message', async (t) => {
  const seed = Date.now() % 1_000_000;
  t.comment(`seed ${seed}`);
  const random = new Random(seed);
  let kills = 0;
  /** A node that dies behind the row of the mail, or within the transaction of its message. */
  const dying: typeof house.options = {
    ...house.options,
    lockedWrites: {
      enter: async (id, decide, follow) => {
        const fate = random.below(8);
        if (fate < 2) kills += 1;
        if (fate === 0) throw new Error('killed');
        return house.options.lockedWrites.enter(id, decide, async (tx, written) => {
          const followed = await follow!(tx, written);
          if (fate === 1) throw new Error('killed');
          return followed;
        });
      },
    },
  };
  const deliver = async (arrival: Parameters<typeof acceptMail>[1]): Promise<MailHead> => {
    for (;;) {
      const row = await acceptMail(dying, arrival).catch((error: Error) => {
        if (error.message !== 'killed') throw error;
      });
      if (row !== undefined) return row;
    }
  };
  let mails = 0;
  const round = async (n: number) => {
    const from = { address: `person-${n}@customers.example`, name: null };
    const [first, second] = [house.arrivalOf({ from }), house.arrivalOf({ from })];
    const answer = { ...second, mail: { ...second.mail, inReplyTo: first.mail.rfcId } };
    const arrivals = shuffled([first, answer, first, answer], random);
    const at = random.below(arrivals.length + 1);
    const rows = await Promise.all(arrivals.slice(0, at).map(deliver));
    for (const arrival of arrivals.slice(at)) rows.push(await deliver(arrival));
    const ids = new Set(rows.map(({ id }) => id));
    mails += ids.size;
    if (ids.size !== 2 || new Set(rows.map(({ message_id }) => message_id)).size !== 2) t.fail(`round ${n}`);
    if (rows.some(({ status, actor_id }) => status !== 'accepted' || actor_id !== rows[0]!.actor_id))
      t.fail(`round ${n}`);
  };
  for (let n = 0; n < ROUNDS; n += SIDE_BY_SIDE) {
    await Promise.all(Array.from({ length: Math.min(SIDE_BY_SIDE, ROUNDS - n) }, (_, k) => round(n + k)));
  }
  t.equal(mails, 2 * ROUNDS);
  t.ok(kills > ROUNDS / 4, `${kills} deaths`);
  const { rows } = await sql<{ messages: number; empty: number; mails: number }>`
    SELECT (SELECT count(*)::int FROM messages m JOIN mails l ON l.message_id = m.id
        WHERE l.from_address LIKE 'person-%' AND m.client_message_id = l.id) AS messages,
      (SELECT count(*)::int FROM conversations c WHERE c.inbox_id = ${inbox.id}
        AND NOT EXISTS (SELECT FROM messages m WHERE m.conversation_id = c.id AND m.status = 'sent')
        AND NOT EXISTS (SELECT FROM mails l WHERE l.conversation_id = c.id AND l.direction = 'out')) AS empty,
      (SELECT count(*)::int FROM messages m JOIN actors a ON a.id = m.author_id WHERE a.handle LIKE 'person-%') AS mails
  `.execute(database.kysely);
  t.strictSame(
    rows,
    [{ messages: 2 * ROUNDS, empty: 0, mails: 2 * ROUNDS }],
    'no second message, and no empty case',
  );
});

const SIDE_BY_SIDE = 6;

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const left = [...items];
  return items.map(() => left.splice(random.below(left.length), 1)[0]!);
}
