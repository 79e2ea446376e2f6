/** The writer of imported messages over Postgres: batches that are cut off, and sends beside it. */

import { newId } from '@parley/protocol/ids.ts';
import t from 'tap';
import type { ImportBatch, ImportedMessage } from '../../src/core/messages/timeline/imported-message.ts';
import { IMPORTED_AT_ONCE, ImportedWrites } from '../../src/core/messages/timeline/imported-write.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import { Random } from '../support/random.ts';
import { createGround, log, openWritePath, outgoing } from '../support/timeline.ts';
import { until } from '../support/until.ts';

const KILLS = 20;

const ground = await createGround(t);
const { database, accountId, authorId, conversationId } = ground;

t.test('an import whose connections are cut twenty times writes the same rows', async (t) => {
  const random = new Random(29);
  const messages = Array.from({ length: 2 * IMPORTED_AT_ONCE + 100 }, (_, n) => message(n));
  const importId = newId('import');
  for (let kills = 0, isOver = false; !isOver; ) {
    // As a node that was killed comes back: other connections, and counters that know nothing.
    const own = await openDatabase({ url: ground.url, log });
    const { lockedWrites } = openWritePath(ground, new MemoryEngine(), { database: own });
    const writing = new ImportedWrites(lockedWrites).write(batch(importId, messages));
    const written = writing.then(
      () => true,
      () => false,
    );
    if (kills++ < KILLS) {
      await new Promise((resolve) => setTimeout(resolve, random.below(60)));
      await database.pool.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL AND state <> 'idle'`,
      );
    }
    isOver = (await written) && kills > KILLS;
    await own.close();
  }
  const rows = await stored();
  t.strictSame(
    rows.map(({ client_message_id, body, at }) => [client_message_id, body, at]),
    messages.map(({ client_message_id, body, created_at }) => [client_message_id, body, created_at]),
    'each message once, in its order, with its time',
  );
  for (const [index, { reply_to_id }] of rows.entries()) {
    const { reply_to } = messages[index]!;
    const root = rows.find(({ client_message_id }) => client_message_id === reply_to);
    if (reply_to_id !== (root?.id ?? null)) t.fail(`the reply ${index}`);
  }
  const one = async (text: string) => Number((await database.pool.query(text)).rows[0].count);
  t.equal(await one(`SELECT count(*) FROM messages WHERE incomplete = 'length'`), 1);
  const expected = messages.filter(({ reactions }) => reactions.length > 0).length;
  t.equal(await one('SELECT count(*) FROM reactions'), expected);
  t.equal(await one('SELECT count(*) FROM reacted_messages'), expected);
  t.equal(
    await one(
      `SELECT sum((details->>'count')::int) AS count FROM audit_events WHERE action = 'messages.imported'`,
    ),
    messages.length,
    'the audit adds up',
  );
  t.equal(
    await one(
      `SELECT count(DISTINCT entry) FROM search_notes, unnest(entry_ids) AS entry WHERE entry LIKE 'msg_%'`,
    ),
    messages.length,
    'search is told of each',
  );
});

t.test('sends beside a large import get numbers of their own, and none is lost', async (t) => {
  const before = (await stored()).length;
  const { lockedWrites, writePath, timeline } = openWritePath(ground, new MemoryEngine());
  const writes = new ImportedWrites(lockedWrites);
  const messages = Array.from({ length: 3 * IMPORTED_AT_ONCE }, (_, n) => message(10_000 + n));
  let isOver = false;
  let sent = 0;
  const sending = (async () => {
    for (; !isOver; sent++) await writePath.append(outgoing(ground));
  })();
  const { written } = await writes.write(batch(newId('import'), messages));
  isOver = true;
  await sending;
  await writePath.idle();
  const order = written.map(({ sequence }) => sequence);
  t.strictSame(
    order,
    order.toSorted((a, b) => a - b),
  );
  const rows = await stored();
  t.equal(rows.length, before + messages.length + sent);
  const [standing] = await timeline.standings([conversationId]);
  await until(async () => (await timeline.standings([conversationId]))[0]!.settled === standing!.head, {
    what: 'a settled timeline',
  });
});

t.test('a root that is missing becomes a tombstone in front of the first reply', async (t) => {
  const { lockedWrites } = openWritePath(ground, new MemoryEngine());
  const replies = [20_000, 20_001].map((n) => ({ ...message(n), reply_to: 'lost' }));
  const { written } = await new ImportedWrites(lockedWrites).write(batch(newId('import'), replies));
  const rows = await stored();
  const root = rows.find(({ client_message_id }) => client_message_id === 'lost')!;
  t.match(root, { body: null, at: replies[0]!.created_at, sequence: written[0]!.sequence - 1 });
  t.ok(root.deleted_at);
  t.equal(rows.filter(({ reply_to_id }) => reply_to_id === root.id).length, 2);
});

t.test('texts that Postgres could not take are kept as far as they go', async (t) => {
  const { lockedWrites } = openWritePath(ground, new MemoryEngine());
  const texts = [
    'tab\tline\nreturn\rback\\slash \\N \\.',
    'nul\0',
    'half \ud800 pair',
    '\\.',
    '{"a":"\\u0000"}',
    '😀 é',
  ];
  const odd = texts.map((body, n) => ({ ...message(30_000 + n), body }));
  await new ImportedWrites(lockedWrites).write(batch(newId('import'), odd));
  const bodies = new Map((await stored()).map(({ client_message_id, body }) => [client_message_id, body]));
  t.strictSame(
    odd.map(({ client_message_id }) => bodies.get(client_message_id)),
    [texts[0], 'nul', 'half \ufffd pair', ...texts.slice(3)],
  );
});

function batch(importId: string, messages: readonly ImportedMessage[]): ImportBatch {
  return { accountId, conversationId, importId, by: null, messages };
}

function message(n: number): ImportedMessage {
  return {
    client_message_id: `old:${n}`,
    kind: 'chat',
    visibility: 'internal',
    author_id: authorId,
    body: `message ${n}`,
    created_at: new Date(Date.UTC(2020) + n * 1_000).toISOString().replace('Z', '123Z'),
    edited_at: null,
    deleted_at: null,
    reply_to: n % 7 === 3 ? `old:${n - 3}` : null,
    reply_to_id: null,
    mentions: [],
    attachments: [],
    reactions: n % 50 === 0 ? [{ emoji: '👍', actor_id: authorId, created_at: null }] : [],
    pin: null,
    ...(n === 1 && { incomplete: 'length' }),
  };
}

interface Stored {
  readonly id: string;
  readonly sequence: number;
  readonly client_message_id: string;
  readonly body: string | null;
  readonly at: string;
  readonly reply_to_id: string | null;
  readonly deleted_at: string | null;
}

async function stored(): Promise<Stored[]> {
  const { rows } = await database.pool.query(
    `SELECT id, sequence, client_message_id, body, created_at AS at, reply_to_id, deleted_at FROM messages
      WHERE conversation_id = $1 AND status = 'sent' ORDER BY sequence`,
    [conversationId],
  );
  return rows;
}
