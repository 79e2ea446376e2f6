/**
 * The search index stays whole: one node at a time, deaths, holes, purges, and messages older than
 * the index.
 */

import { newId } from '@parley/protocol/ids.ts';
import t from 'tap';
import { deleteEmptyConversation } from '../../src/core/conversations/rows/conversation-store.ts';
import { insertVoids } from '../../src/core/messages/timeline/timeline-store.ts';
import { purgeConversation, purgePrefix } from '../../src/features/compliance/purge.ts';
import { Indexer, indexPart, keepsUp } from '../../src/features/search/indexer.ts';
import { MESSAGES } from '../../src/features/search/kinds.ts';
import { matchFields } from '../../src/features/search/match.ts';
import { searchMetrics } from '../../src/features/search/metrics.ts';
import { parseQuery } from '../../src/features/search/query.ts';
import { readResults } from '../../src/features/search/results.ts';
import { documentWords, wordsOf } from '../../src/features/search/words.ts';
import { DueWatch } from '../../src/platform/db/queue/due-watch.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { addConversation, createGround, log } from '../support/timeline.ts';
import { until } from '../support/until.ts';

const ground = await createGround(t);
const { database } = ground;

t.test('a hostile text and a hostile query take time in proportion to their length', (t) => {
  const field = { name: 'body', text: 'a '.repeat(10_000), actorId: null } as const;
  for (const q of ['a '.repeat(127), `"${'a '.repeat(126)}"`, '日 '.repeat(127)]) {
    const beganMs = process.cpuUsage().user / 1_000;
    for (let n = 0; n < 5; n++) matchFields(parseQuery(q), [field]);
    t.ok(process.cpuUsage().user / 1_000 - beganMs < 5_000, q.slice(0, 8));
  }
  t.end();
});

t.test('the words of a document are those with positions, and none has a character to escape', (t) => {
  const texts = [
    `Hello, World! foo_bar x2 ${'a'.repeat(200)} A-b c\td\r\ne~f`,
    '',
    '...',
    '1,000.5 Zürich 東京',
  ];
  for (const text of texts) {
    const expected = wordsOf(text, 'document').map((word) => word.text);
    t.strictSame(documentWords(text), expected, text.slice(0, 8));
  }
  const escaped: string[] = [];
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const words = documentWords(`漢${String.fromCodePoint(code)}a`);
    escaped.push(...words.filter((word) => /['\\\s\0]/.test(word)));
  }
  t.strictSame(escaped, []);
  t.end();
});

t.test('a search that finds candidates without an end, and no hit in them, is given up', async (t) => {
  const id = await addConversation(ground);
  await send(id, 1, 200, 'one two ');
  await indexAll();
  const search = (q: string, deadlineMs: number) =>
    readResults(
      database,
      {
        accountId: ground.accountId,
        actor: { id: ground.authorId },
        admin: false,
        customer: false,
        permissions: new Set(),
      } as never,
      MESSAGES,
      { phrases: parseQuery(q), deadlineMs, conversation_id: id },
      { direction: 'next', after: null, fetch: 26, search: q },
    );
  t.strictSame(await search('"two one"', Number.POSITIVE_INFINITY), []);
  t.equal((await search('"one two"', Number.POSITIVE_INFINITY)).length, 26);
  await t.rejects(search('"two one"', performance.now()), { name: 'SearchTooLongError' });
});

t.test('a message has an entry while it can be found, whatever is noted about it', async (t) => {
  const id = await addConversation(ground);
  await send(id, 1, 40);
  const entriesAfter = async (change: string): Promise<number> => {
    await database.pool.query(`UPDATE messages SET ${change} WHERE conversation_id = $1`, [id]);
    await indexAll();
    return (await indexed(id)).length;
  };
  t.equal(await entriesAfter('body = body'), 40);
  t.equal(await entriesAfter(`body = repeat('long ', 4000)`), 40);
  t.equal(await entriesAfter('deleted_at = CASE WHEN sequence > 10 THEN now() END'), 10);
  await database.pool.query(
    'SELECT add_search_notes(array_agg(id), array_agg(conversation_id)) FROM messages',
  );
  t.equal(await entriesAfter('body = body'), 10);
});

t.test('an edit waits for words that are being written, and they do not outlive it', async (t) => {
  const id = await addConversation(ground);
  await send(id, 1, 1);
  const writer = await database.pool.connect();
  t.teardown(() => writer.release());
  await writer.query('BEGIN');
  await writer.query('SELECT pg_advisory_xact_lock(29, hashtext($1) & 255)', [id]);
  const edit = database.pool.query(`UPDATE messages SET body = 'other' WHERE conversation_id = $1`, [id]);
  const waiting = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = 29 AND NOT granted`;
  await until(async () => (await database.pool.query(waiting)).rowCount === 1, { what: 'the edit waits' });
  await writer.query(
    `INSERT INTO search_entries (id, conversation_id, account_id, at, terms)
     SELECT id, conversation_id, account_id, created_at, $2 FROM messages WHERE conversation_id = $1`,
    [id, `'${ground.accountId.slice(-6)}:number1'`],
  );
  await writer.query('COMMIT');
  await edit;
  t.equal(await entriesWith(id, 'number1'), 0);
  await indexAll();
  t.equal(await entriesWith(id, 'other'), 1);
});

t.test('the index waits for an edit, and leaves the message noted where that takes long', async (t) => {
  const id = await addConversation(ground);
  await send(id, 1, 1);
  await database.transaction(async (tx) => {
    await tx.kysely
      .updateTable('messages')
      .set({ body: 'other' })
      .where('conversation_id', '=', id)
      .execute();
    await endRest();
    t.equal(await indexPart(database), undefined);
    t.equal(await entriesWith(id, 'number1'), 0);
  });
  await indexAll();
  t.strictSame([await entriesWith(id, 'number1'), await entriesWith(id, 'other')], [0, 1]);
});

t.test('two indexers and two that die at it: every message once, and nothing waits', async (t) => {
  const id = await addConversation(ground);
  const stopped = [start(), start()];
  await send(id, 1, 300);
  await Promise.all(stopped.map((indexer) => indexer.close()));
  await send(id, 301, 700);
  // A part that is rolled back leaves its notes.
  await database
    .transaction(async (tx) => {
      await tx.kysely.deleteFrom('search_notes').execute();
      throw new Error('died');
    })
    .catch(() => undefined);
  const indexers = [start(), start()];
  t.teardown(() => Promise.all(indexers.map((indexer) => indexer.close())));
  await allIndexed();
  t.strictSame(await indexed(id), numbers(1, 700));
});

t.test('parts: each is small, what is indexed stays, what is not stays noted', async (t) => {
  const id = await addConversation(ground);
  await send(id, 1, 200);
  await endRest();
  const part = await indexPart(database);
  t.match(part, { isFull: true });
  const { length } = await indexed(id);
  t.ok(length > 0 && length < 130, `${length} of 200`);
  await database.pool.query(`UPDATE search_state SET next_part_at = now() + interval '1 hour'`);
  t.equal(await indexPart(database), undefined, 'no node begins during a rest');
  await indexAll();
  t.strictSame(await indexed(id), numbers(1, 200));
  t.equal((await database.pool.query('SELECT FROM search_notes')).rowCount, 0);
});

t.test('an index rests as soon as more is noted than it keeps up with, however young it is', async (t) => {
  t.ok(keepsUp(64, 0.05), 'a part each 50 ms');
  t.ok(keepsUp(3_000, 1));
  t.notOk(keepsUp(400, 0.05), '8,000 messages a second, from the first notes on');
  t.notOk(keepsUp(8_000, 1));
  t.ok(keepsUp(0, 0), 'nothing is noted');
});

t.test('two nodes at one time: one works, the other one finds nothing to do', async (t) => {
  const id = await addConversation(ground);
  await send(id, 1, 500);
  await endRest();
  const parts = await Promise.all([indexPart(database), indexPart(database)]);
  t.ok(parts.some((part) => part !== undefined));
  while ((await indexed(id)).length < 500) {
    await endRest();
    await Promise.all([indexPart(database), indexPart(database)]);
  }
  t.strictSame(await indexed(id), numbers(1, 500));
});

t.test('a message that commits behind later ones is brought in, a void is not', async (t) => {
  const id = await addConversation(ground);
  const indexer = start();
  t.teardown(() => indexer.close());
  await send(id, 1, 3);
  await send(id, 6, 8);
  await allIndexed();
  t.strictSame(await indexed(id), [...numbers(1, 3), ...numbers(6, 8)]);
  await send(id, 4, 4);
  await insertVoids(database, [{ conversationId: id, sequence: 5 }]);
  await send(id, 9, 9);
  await allIndexed();
  t.strictSame(await indexed(id), [...numbers(1, 4), ...numbers(6, 9)]);
});

t.test('purged messages leave the index with the commit', async (t) => {
  const id = await addConversation(ground);
  const indexer = start();
  t.teardown(() => indexer.close());
  await send(id, 1, 100);
  await allIndexed();
  t.equal(await entriesWith(id, 'number70'), 1);
  await database.transaction((tx) => purgePrefix(tx, id, 70));
  t.strictSame(await indexed(id), numbers(71, 100));
  await allIndexed();
  t.strictSame(await indexed(id), numbers(71, 100));
  await database.transaction(async (tx) => {
    while ((await purgeConversation(tx, id))?.more === true);
    await deleteEmptyConversation(tx, id);
  });
  const left = 'SELECT FROM search_entries WHERE conversation_id = $1';
  t.equal((await database.pool.query(left, [id])).rowCount, 0, 'with the row of its title');
});

t.test('the conversations of an actor with a new name are noted, in small parts', async (t) => {
  await Promise.all(Array.from({ length: 70 }, () => addConversation(ground)));
  await indexAll();
  const { rows } = await database.pool.query<{ id: string }>(
    `UPDATE actors SET name = 'Renamed' WHERE id = $1 RETURNING id`,
    [ground.authorId],
  );
  t.equal(rows.length, 1);
  const noted = await database.pool.query<{ most: number; all: number; members: number }>(
    `SELECT max(cardinality(entry_ids))::int AS most, sum(cardinality(entry_ids))::int AS all,
       (SELECT count(*)::int FROM participants WHERE actor_id = $1) AS members FROM search_notes`,
    [ground.authorId],
  );
  const [{ most, all, members } = { most: 0, all: 0, members: 0 }] = noted.rows;
  t.ok(members > 70);
  t.strictSame([most, all], [64, members]);
  await indexAll();
  t.equal(await entriesWith(ground.conversationId, 'renamed', '^'), 1);
});

t.test('messages and conversations from before search are indexed in the background', async (t) => {
  const ids = await Promise.all(Array.from({ length: 40 }, () => addConversation(ground)));
  for (const id of ids) await send(id, 1, 3);
  const long = await addConversation(ground);
  await send(long, 1, 500);
  await database.pool.query('TRUNCATE search_entries, search_notes');
  await database.pool.query(`UPDATE search_state SET filled_through = ''`);
  const indexer = start();
  t.teardown(() => indexer.close());
  const isFilled = async () => {
    const { rows } = await database.pool.query('SELECT FROM search_state WHERE filled_through IS NULL');
    return rows.length === 1;
  };
  await until(isFilled, { what: 'everything is indexed' });
  for (const id of ids) t.strictSame(await indexed(id), numbers(1, 3));
  t.strictSame(await indexed(long), numbers(1, 500));
  t.equal(await entriesWith(long, 'pier', '^'), 1, 'and titles');
});

function start(): Pick<Indexer, 'close'> {
  const watch = new DueWatch({ database, log });
  const indexer = new Indexer({ database, watch, metrics: searchMetrics(createMetrics()), log });
  watch.start();
  return { close: async () => void (await Promise.all([watch.close(), indexer.close()])) };
}

/** Writes messages with these numbers, and has their row leave the outbox. */
async function send(conversationId: string, first: number, last: number, words = ''): Promise<void> {
  const sequences = numbers(first, last);
  await database.pool.query(
    `WITH sent AS (
       INSERT INTO messages (id, account_id, conversation_id, sequence, kind, status, visibility, body)
       SELECT m.id, $1, $2, m.sequence, 'chat', 'sent', 'internal', $5 || 'number' || m.sequence
       FROM unnest($3::text[], $4::bigint[]) AS m(id, sequence) RETURNING id
     )
     INSERT INTO outbox (topic, payload) SELECT 'messages.sent', jsonb_build_object('messages',
       jsonb_agg(jsonb_build_object('id', id, 'conversation_id', $2::text))) FROM sent`,
    [ground.accountId, conversationId, sequences.map(() => newId('message')), sequences, words],
  );
  await database.pool.query('DELETE FROM outbox');
}

function numbers(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

async function allIndexed(): Promise<void> {
  const waiting = 'SELECT FROM search_notes';
  await until(async () => (await database.pool.query(waiting)).rowCount === 0, { what: 'all is indexed' });
}

/** Returns the numbers of the messages of a conversation that have an entry. */
async function indexed(id: string): Promise<number[]> {
  const { rows } = await database.pool.query<{ sequence: string }>(
    `SELECT m.sequence FROM search_entries e JOIN messages m ON m.id = e.id
     WHERE e.conversation_id = $1 ORDER BY m.sequence`,
    [id],
  );
  return rows.map(({ sequence }) => Number(sequence));
}

/** Ends a rest of the index. */
async function endRest(): Promise<void> {
  await database.pool.query('UPDATE search_state SET next_part_at = clock_timestamp()');
}

/** Indexes what is noted now. */
async function indexAll(): Promise<void> {
  for (;;) {
    await endRest();
    if ((await indexPart(database))?.isFull !== true) return;
  }
}

async function entriesWith(id: string, word: string, kind = ':'): Promise<number> {
  const { rows } = await database.pool.query(
    'SELECT FROM search_entries WHERE conversation_id = $1 AND terms::text LIKE $2',
    [id, `%${kind}${word}'%`],
  );
  return rows.length;
}
