/** The scripts of equal work insert what a send leaves, whatever columns the schema has. */

import { sql } from 'kysely';
import t from 'tap';
import { CONVERSATIONS, insertScripts, type SendSample } from '../../bench/lib/insert-script.ts';
import { readSendSample } from '../../bench/lib/sample-row.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { createLog } from '../../src/platform/log.ts';
import { createTestDatabase } from '../support/postgres.ts';

const text = (name: string, value: string | null) => ({ name, type: 'text', value });
const SAMPLE: SendSample = {
  message: [
    text('id', 'msg_1'),
    text('conversation_id', 'cnv_1'),
    { name: 'sequence', type: 'bigint', value: '201' },
    text('body', "It's 9:30"),
    text('subject', null),
    text('client_message_id', 'sample'),
    { name: 'has_attachments', type: 'boolean', value: 'false' },
    { name: 'created_at', type: 'timestamp with time zone', value: '2026-01-01 00:00:00+00' },
  ],
  notification: [
    text('id', 'ntf_1'),
    text('recipient_id', 'act_1'),
    text('message_id', 'msg_1'),
    text('resource_id', 'cnv_1'),
    text('title', 'Demo'),
    text('seen_at', null),
  ],
  hasIdFunction: false,
};

t.test('the columns are those of the sample that hold something', async (t) => {
  const { single } = insertScripts(SAMPLE, 1);
  t.match(
    single,
    'INSERT INTO messages (id, conversation_id, sequence, body, client_message_id, has_attachments, created_at)',
  );
  t.match(single, "'false'::boolean, now())", 'times are those of the insert');
  t.match(single, "('It''s 9' || chr(58) || '30')::text", 'a colon would begin a variable of pgbench');
  t.match(single, `random(10, ${9 + CONVERSATIONS})`);
  t.notMatch(single, 'notifications');
});

t.test('both scripts of equal work insert as many notifications as a send causes', async (t) => {
  const { pipeline, statement } = insertScripts(SAMPLE, 50);
  for (const script of [pipeline, statement]) {
    t.match(script, 'INSERT INTO notifications (id, recipient_id, message_id, resource_id, title)');
    t.match(script, 'generate_series(1, 50) AS r');
  }
  t.match(
    pipeline,
    /\\startpipeline\nINSERT INTO messages .*;\nINSERT INTO notifications .*;\n\\endpipeline/,
  );
  t.match(statement, /^WITH m AS \(INSERT INTO messages .*\) INSERT INTO notifications .* FROM m, /m);
});

t.test("ids of notifications come from the schema's function where there is one", async (t) => {
  t.notMatch(insertScripts(SAMPLE, 1).statement, 'notification_id');
  const { statement } = insertScripts({ ...SAMPLE, hasIdFunction: true }, 1);
  t.match(statement, "notification_id(now(), ('msg_' || lpad(:sequence::text, 24, '0')), ('act_pgbench");
});

t.test('the scripts fit the schema of this checkout', async (t) => {
  const { url } = await createTestDatabase(t);
  const database = await openDatabase({ url, log: createLog('silent') });
  t.teardown(() => database.close());
  const count = async (table: string) => {
    const { rows } = await sql<{ count: string }>`SELECT count(*) FROM ${sql.table(table)}`.execute(
      database.kysely,
    );
    return Number(rows[0]?.count);
  };
  const at = '2026-01-01T00:00:00Z';
  const messageId = 'msg_sample000000000000000000';
  const ids = [messageId, 'acc_1', 'cnv_1', 'act_1'].map((id) => sql`${id}`);
  await sql`
    INSERT INTO messages (id, account_id, conversation_id, author_id, sequence, kind, status, visibility, body,
      client_message_id, created_at, updated_at)
    VALUES (${sql.join(ids)}, 1, 'chat', 'sent', 'internal', 'Hello', 'c-1', ${at}, ${at})`.execute(
    database.kysely,
  );
  await sql`
    INSERT INTO notifications (id, account_id, recipient_id, category, title, resource_id, message_id, created_at,
      updated_at)
    VALUES ('ntf_1', 'acc_1', 'act_2', 'chat.message', 'Demo', 'cnv_1', ${messageId}, ${at}, ${at})`.execute(
    database.kysely,
  );
  const sample = await readSendSample(database, messageId);
  for (const [index, script] of Object.values({ ...insertScripts(sample, 3) }).entries()) {
    const statements = script
      .replaceAll(/^\\.*$/gm, '')
      .replaceAll(/(?<!:):sequence\b/g, String(1_000 + index))
      .replaceAll(/(?<!:):conversation\b/g, '10')
      .split(';\n')
      .filter((text) => text.trim() !== '');
    await database.transaction(async (tx) => {
      for (const statement of statements) await sql.raw(statement).execute(tx.kysely);
    });
  }
  t.equal(await count('messages'), 1 + 3);
  t.equal(await count('notifications'), 1 + 2 * 3);
});
