/**
 * What keeps the index of the search whole: one node at a time, deaths, holes, purges, and messages
 * from before it.
 */

import t from 'tap';
import { newId } from '../../src/contract/protocol/ids.ts';
import { deleteEmptyConversation } from '../../src/core/conversations/conversation-store.ts';
import { insertVoids } from '../../src/core/messages/timeline/timeline-store.ts';
import { purgeConversation, purgePrefix } from '../../src/features/compliance/purge.ts';
import { Indexer, indexSome } from '../../src/features/search/indexer.ts';
import { matchFields } from '../../src/features/search/match.ts';
import { parseQuery } from '../../src/features/search/query.ts';
import { readWindow, type WindowOptions } from '../../src/features/search/results.ts';
import { DueWatch } from '../../src/platform/db/queue/due-watch.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { addConversation, createGround, log } from '../support/timeline.ts';
import { until } from '../support/until.ts';

const ground = await createGround(t);
const { database } = ground;

t.test('a hostile text and a hostile query take time in proportion to their length', (t) => {
  const field = { name: 'body', text: 'a '.repeat(10_000) };
  for (const q of ['a '.repeat(127), `"${'a '.repeat(126)}"`, '日 '.repeat(127)]) {
    const beganMs = process.cpuUsage().user / 1_000;
    for (let n = 0; n < 5; n++) matchFields(parseQuery(q), [field]);
    t.ok(process.cpuUsage().user / 1_000 - beganMs < 5_000, q.slice(0, 8));
  }
  t.end();
});

t.test('a search that finds blocks without an end, and no hit in them, is given up', async (t) => {
  let read = 0;
  const options: WindowOptions<{ id: string; at: string }> = {
    readBlocks: async (_, limit) => {
      read += limit;
      const at = new Date(Date.UTC(2026, 0, 1) - read * 1_000).toISOString();
      const block = {
        conversation_id: 'cnv_1',
        first_sequence: 1,
        last_sequence: 16,
        from_at: at,
        to_at: at,
      };
      return Array.from({ length: limit }, () => block);
    },
    readItems: async (_, blocks) => blocks.map((block, index) => ({ id: `${index}`, at: block.to_at })),
    readRecent: async () => [],
    phrases: parseQuery('word'),
    fieldsOf: () => [],
    deadlineMs: performance.now() + 50,
  };
  const period = { lower: '0001-01-01T00:00:00.000Z', upper: '2026-06-01T00:00:00.000Z' };
  await t.rejects(readWindow(options, period, 1), { name: 'SearchTooLongError' });
});

t.test('a row has few messages, few words and few days', async (t) => {
  const id = await addConversation(ground);
  const rowsAfter = async (change: string): Promise<unknown[]> => {
    await send(id, 1, 40);
    await database.pool.query(`UPDATE messages SET ${change} WHERE conversation_id = $1`, [id]);
    await indexAll();
    const { rows } = await database.pool.query<{ range: unknown }>(
      `SELECT jsonb_build_array(first_sequence, last_sequence, messages) AS range FROM search_blocks
       WHERE conversation_id = $1 AND first_sequence > 0 ORDER BY first_sequence`,
      [id],
    );
    await database.pool.query('DELETE FROM messages WHERE conversation_id = $1', [id]);
    return rows.map(({ range }) => range);
  };
  t.strictSame(await rowsAfter('body = body'), [
    [1, 16, 16],
    [17, 32, 16],
    [33, 40, 8],
  ]);
  const threes = Array.from({ length: 13 }, (_, n) => [3 * n + 1, 3 * n + 3, 3]);
  t.strictSame(await rowsAfter(`body = repeat('long ', 4000)`), [...threes, [40, 40, 1]]);
  t.strictSame(await rowsAfter(`created_at = created_at + (sequence / 20) * interval '2 days'`), [
    [1, 16, 16],
    [17, 19, 3],
    [20, 35, 16],
    [36, 39, 4],
    [40, 40, 1],
  ]);
  t.strictSame(await rowsAfter(`deleted_at = CASE WHEN sequence > 10 THEN now() END`), [
    [1, 16, 10],
    [17, 32, 0],
    [33, 40, 0],
  ]);
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
    `INSERT INTO search_blocks (conversation_id, first_sequence, last_sequence, account_id, messages, from_at, to_at, terms)
     VALUES ($1, 1, 1, $2, 1, now(), now(), $3)`,
    [id, ground.accountId, `'${ground.accountId.slice(-6)}:number1'`],
  );
  await writer.query('COMMIT');
  await edit;
  t.equal(await blocksWith(id, 'number1'), 0);
  await indexAll();
  t.equal(await blocksWith(id, 'other'), 1);
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
    await allowRound();
    t.equal(await indexSome(database, goOn), undefined);
    t.equal(await blocksWith(id, 'number1'), 0);
  });
  await indexAll();
  t.strictSame([await blocksWith(id, 'number1'), await blocksWith(id, 'other')], [0, 1]);
});

t.test('two indexers and two that die at it: every message once, and nothing waits', async (t) => {
  const id = await addConversation(ground);
  const stopped = [start(), start()];
  await send(id, 1, 300);
  await Promise.all(stopped.map((indexer) => indexer.close()));
  await send(id, 301, 700);
  // A round that is rolled back leaves its changes.
  await database
    .transaction(async (tx) => {
      await tx.kysely.deleteFrom('search_changes').execute();
      throw new Error('died');
    })
    .catch(() => undefined);
  const indexers = [start(), start()];
  t.teardown(() => Promise.all(indexers.map((indexer) => indexer.close())));
  await indexed();
  t.strictSame(await covered(id), { messages: 700, through: 700, gaps: 0 });
});

t.test('a round that ends between two parts: what is indexed stays, what is not stays noted', async (t) => {
  const id = await addConversation(ground);
  await send(id, 1, 200);
  await allowRound();
  t.equal(await indexSome(database, async () => false), undefined, 'closed behind a part');
  const { messages } = await covered(id);
  t.ok(messages > 0 && messages < 200, `${messages} of 200`);
  const died = indexSome(database, async () => {
    throw new Error('died');
  });
  await t.rejects(died, { message: 'died' });
  t.equal(await indexSome(database, goOn), undefined, 'the claim of a node that died keeps others off');
  await allowRound();

  let others = 0;
  const indexed = await indexSome(database, async () => {
    if ((await indexSome(database, goOn)) !== undefined) others++;
    return true;
  });
  t.ok(indexed !== undefined && indexed.messages < 200, 'what was indexed is not read again');
  t.equal(others, 0, 'no other node begins meanwhile');
  t.strictSame(await covered(id), { messages: 200, through: 200, gaps: 0 });
  t.equal((await database.pool.query('SELECT FROM search_changes')).rowCount, 0);
});

t.test('two nodes in one round, since the claim of the first ran out: every message once', async (t) => {
  const id = await addConversation(ground);
  await send(id, 1, 500);
  await allowRound();
  const both = await indexSome(database, async () => {
    await allowRound();
    t.ok(await indexSome(database, goOn), 'the other node does all of it');
    return true;
  });
  t.ok(both);
  t.strictSame(await covered(id), { messages: 500, through: 500, gaps: 0 });
});

t.test('a message that commits behind later ones is brought in, a void settles its number', async (t) => {
  const id = await addConversation(ground);
  const indexer = start();
  t.teardown(() => indexer.close());
  await send(id, 1, 3);
  await send(id, 6, 8);
  await indexed();
  t.strictSame(await covered(id), { messages: 6, through: 8, gaps: 2 });
  await send(id, 4, 4);
  await insertVoids(database, [{ conversationId: id, sequence: 5 }]);
  await indexed();
  await send(id, 9, 9);
  await indexed();
  t.strictSame(await covered(id), { messages: 8, through: 9, gaps: 0 });
});

t.test('purged messages leave the index with the commit, the others of their block come back', async (t) => {
  const id = await addConversation(ground);
  const indexer = start();
  t.teardown(() => indexer.close());
  await send(id, 1, 100);
  await indexed();
  t.equal(await blocksWith(id, 'number70'), 1);
  await database.transaction((tx) => purgePrefix(tx, id, 70));
  t.equal(await blocksWith(id, 'number70'), 0);
  await indexed();
  t.strictSame(await covered(id), { messages: 30, through: 100, gaps: 0 });
  t.equal(await blocksWith(id, 'number71'), 1);
  await database.transaction(async (tx) => {
    while ((await purgeConversation(tx, id))?.more === true);
    await deleteEmptyConversation(tx, id);
  });
  const left = 'SELECT FROM search_blocks WHERE conversation_id = $1';
  t.equal((await database.pool.query(left, [id])).rowCount, 0, 'with the row of its title');
});

t.test('conversations from before search are indexed in the background', async (t) => {
  const ids = await Promise.all(Array.from({ length: 40 }, () => addConversation(ground)));
  for (const id of ids) await send(id, 1, 3);
  const long = await addConversation(ground);
  // More than a round reads.
  await send(long, 1, 2_500);
  await database.pool.query('TRUNCATE search_blocks, search_changes');
  await database.pool.query(`UPDATE search_progress SET filled_through = ''`);
  const indexer = start();
  t.teardown(() => indexer.close());
  const isFilled = async () => {
    const { rows } = await database.pool.query('SELECT FROM search_progress WHERE filled_through IS NULL');
    return rows.length === 1;
  };
  await until(isFilled, { what: 'all conversations are indexed' });
  await indexed();
  for (const id of ids) t.match(await covered(id), { messages: 3, through: 3, gaps: 0 });
  t.strictSame(await covered(long), { messages: 2_500, through: 2_500, gaps: 0 });
});

function start(): Pick<Indexer, 'close'> {
  const watch = new DueWatch({ database, log });
  const indexer = new Indexer({ database, watch, metrics: createMetrics(), log });
  watch.start();
  return { close: async () => void (await Promise.all([watch.close(), indexer.close()])) };
}

/** Writes messages with these numbers, and has their row leave the outbox. */
async function send(conversationId: string, first: number, last: number): Promise<void> {
  const numbers = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  await database.pool.query(
    `WITH sent AS (
       INSERT INTO messages (id, account_id, conversation_id, sequence, kind, status, visibility, body)
       SELECT m.id, $1, $2, m.sequence, 'chat', 'sent', 'internal', 'number' || m.sequence
       FROM unnest($3::text[], $4::bigint[]) AS m(id, sequence) RETURNING id
     )
     INSERT INTO outbox (topic, payload) SELECT 'messages.sent', jsonb_build_object('messages',
       jsonb_agg(jsonb_build_object('id', id, 'conversation_id', $2::text))) FROM sent`,
    [ground.accountId, conversationId, numbers.map(() => newId('message')), numbers],
  );
  await database.pool.query('DELETE FROM outbox');
}

async function indexed(): Promise<void> {
  const waiting = 'SELECT FROM search_changes';
  await until(async () => (await database.pool.query(waiting)).rowCount === 0, { what: 'all is indexed' });
}

async function covered(id: string): Promise<{ messages: number; through: number; gaps: number }> {
  const { rows } = await database.pool.query(
    `SELECT sum(messages)::int AS messages, max(last_sequence)::int AS through,
       coalesce(sum(cardinality(missing)), 0)::int AS gaps FROM search_blocks WHERE conversation_id = $1 AND first_sequence > 0`,
    [id],
  );
  return rows[0];
}

/** Ends a claim on the index, and a rest. */
async function allowRound(): Promise<void> {
  await database.pool.query('UPDATE search_progress SET next_round_at = clock_timestamp()');
}

/** Indexes what is noted now. */
async function indexAll(): Promise<void> {
  await allowRound();
  await indexSome(database, goOn);
}

async function goOn(): Promise<boolean> {
  return true;
}

async function blocksWith(id: string, word: string): Promise<number> {
  const { rows } = await database.pool.query(
    `SELECT FROM search_blocks WHERE conversation_id = $1 AND terms::text LIKE $2`,
    [id, `%:${word}'%`],
  );
  return rows.length;
}
