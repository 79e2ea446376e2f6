/** Reads of a timeline while its numbers settle. */

import t from 'tap';
import type { Frame } from '../../src/core/frames/frame.ts';
import { readTimeline, readTimelineKeys } from '../../src/core/messages/reading/list.ts';
import type { TimelineRange } from '../../src/core/messages/timeline/timeline-store.ts';
import type { Database } from '../../src/platform/db/connection/database.ts';
import type { Querier } from '../../src/platform/db/connection/handle.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import { addConversation, createGround, newMessage, openWritePath } from '../support/timeline.ts';

const ground = await createGround(t);
const engine = new MemoryEngine<Frame>();
t.teardown(() => engine.close());
const { timeline } = openWritePath(ground, engine);

const READS = { rows: readTimeline, keys: readTimelineKeys };

for (const [what, readAs] of Object.entries(READS)) {
  t.test(`${what}: a range without gaps costs one statement, in either order`, async (t) => {
    const conversationId = await timelineOf(1, 2, 3, 4, 5);
    const { database, statements } = watched();
    for (const [range, expected] of [
      [{ limit: 3 }, [5, 4, 3]],
      [{ limit: 9 }, [5, 4, 3, 2, 1]],
      [{ limit: 2, before: 4 }, [3, 2]],
      [{ limit: 2, order: 'oldest_first', after: 1 }, [2, 3]],
      [{ limit: 9, order: 'oldest_first', after: 3 }, [4, 5]],
      [{ limit: 9, order: 'oldest_first', after: 5 }, []],
    ] as const) {
      statements.length = 0;
      t.strictSame(await read(readAs, database, conversationId, range), expected, JSON.stringify(range));
      t.equal(statements.length, 1, `${statements}`);
    }
  });

  for (const order of ['newest_first', 'oldest_first'] as const) {
    t.test(`${what}: a message that commits behind the read is in its place: ${order}`, async (t) => {
      const conversationId = await timelineOf(1, 3);
      const { database, statements } = watched(async () => {
        if (statements.length === 1) await insert(conversationId, 2);
      });
      const expected = order === 'oldest_first' ? [1, 2, 3] : [3, 2, 1];
      t.strictSame(await read(readAs, database, conversationId, { order }), expected);
    });
  }

  t.test(
    `${what}: a message that is sent behind the read is not added before an unsettled number`,
    async (t) => {
      const conversationId = await timelineOf(1, 3);
      const { database, statements } = watched(async () => {
        if (statements.length === 1) await insert(conversationId, 5);
      });
      const shown = await read(readAs, database, conversationId, { order: 'oldest_first' });
      t.strictSame(shown, [1, 3], 'number 2 was voided, and number 4 may still become a message');
    },
  );
}

t.test('keys name the client id to its author alone', async (t) => {
  const conversationId = await timelineOf(1, 2);
  const range = { conversationId, ...WHOLE, forCustomer: false };
  const rows = await readTimeline({ ...ground, timeline }, range);
  for (const [viewer, own] of [
    [ground.authorId, rows.map((row) => row.client_message_id)],
    ['act_another', [null, null]],
  ] as const) {
    const keys = await readTimelineKeys({ ...ground, timeline }, range, viewer);
    t.strictSame(
      keys,
      rows.map(({ id, version, sequence }, i) => ({ id, version, sequence, client_message_id: own[i] })),
    );
  }
});

t.test('of large messages no more is read than a page has room for, and one', async (t) => {
  const conversationId = await addConversation(ground);
  const body = '\u0001'.repeat(40_000);
  for (let sequence = 1; sequence <= 40; sequence++) await insert(conversationId, sequence, body);
  await insert(conversationId, 41, 'a short one');
  const { database, statements } = watched();
  const range = { ...WHOLE, limit: 101, forCustomer: false, conversationId };
  const rows = await readTimeline({ database, timeline }, range);
  // The JSON of four has less than 1 MiB.
  t.strictSame(
    rows.map(({ sequence }) => sequence),
    Array.from({ length: 6 }, (_, index) => 41 - index),
  );
  t.ok(rows.slice(1).every((row) => JSON.parse(String(row.body_json)) === body));
  t.equal(rows[0]?.body, 'a short one');
  t.strictSame(statements, [
    'read-timeline-newest',
    'read-large-messages-as-json',
    'read-large-messages-as-json',
  ]);
  const kept = await readTimeline({ database, timeline }, { ...range, before: 3 });
  t.strictSame(
    kept.map((row) => [row.sequence, row.body_json?.length]),
    [
      [2, 240_002],
      [1, 240_002],
    ],
  );
});

const WHOLE = { after: 0, before: Number.MAX_SAFE_INTEGER, order: 'newest_first', limit: 10 } as const;

/** Returns a conversation that has messages of these numbers. */
async function timelineOf(...sequences: number[]): Promise<string> {
  const conversationId = await addConversation(ground);
  for (const sequence of sequences) await insert(conversationId, sequence);
  return conversationId;
}

async function insert(conversationId: string, sequence: number, body?: string): Promise<void> {
  const {
    attachments: _,
    metadata: __,
    cc,
    mentions,
    ...message
  } = newMessage({ ...ground, conversationId });
  await ground.database.kysely
    .insertInto('messages')
    .values({ ...message, ...(body === undefined ? {} : { body }), sequence, status: 'sent' })
    .execute();
}

async function read(
  readAs: (typeof READS)[keyof typeof READS],
  database: Database,
  conversationId: string,
  range: Partial<TimelineRange>,
): Promise<(number | null)[]> {
  const asked = { ...WHOLE, forCustomer: false, conversationId, ...range };
  const rows = await readAs({ database, timeline }, asked, ground.authorId);
  return rows.map(({ sequence }) => sequence);
}

/**
 * The database, with the names of its statements; `onAnswer` runs before the rows of a statement
 * are returned.
 */
function watched(onAnswer: () => Promise<void> = async () => {}): {
  readonly database: Database;
  readonly statements: string[];
} {
  const statements: string[] = [];
  const through = (querier: Querier): Querier['query'] =>
    async function query(statement, ...values) {
      statements.push(statement.name);
      const rows = await querier.query(statement, ...values);
      await onAnswer();
      return rows;
    };
  const { database } = ground;
  const watched = Object.create(database, {
    query: { value: through(database) },
    reader: { get: () => ({ query: through(database.reader) }) },
  }) as Database;
  return { database: watched, statements };
}
