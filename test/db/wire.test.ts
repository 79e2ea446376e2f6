/** A pipelined connection reads the bytes of the protocol as pg does, however they arrive. */

import { connect, createServer, type Socket } from 'node:net';
import pg from 'pg';
import t from 'tap';
import { connectionOptions } from '../../src/platform/db/connection/connection-options.ts';
import { PipelinedConnection } from '../../src/platform/db/connection/pipelined-connection.ts';
import { Primary } from '../../src/platform/db/connection/primary.ts';
import { DatabaseUnavailableError } from '../../src/platform/db/connection/unavailable.ts';
import { MessageReader } from '../../src/platform/db/connection/wire/message-reader.ts';
import { createLog } from '../../src/platform/log.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

const log = createLog('silent');

/** Statements whose answers have each kind of value and message. */
const CASES: readonly { text: string; values?: readonly (string | number | boolean | object | null)[] }[] = [
  { text: 'SELECT 1 AS one' },
  { text: 'SELECT' },
  { text: '' },
  { text: 'SELECT 1 AS one WHERE false' },
  { text: 'CREATE TABLE IF NOT EXISTS things (id int PRIMARY KEY, name text)' },
  { text: "INSERT INTO things VALUES (1, 'one') ON CONFLICT DO NOTHING RETURNING *" },
  { text: 'UPDATE things SET name = $1', values: ['two'] },
  { text: 'SELECT n, -n AS negative, n::text AS text FROM generate_series(0, 300) AS n' },
  {
    text: `SELECT 0::int2 AS zero, (-32768)::int2 AS int2, 2147483647 AS int4, (-9007199254740991)::int8 AS int8,
      1.50::numeric AS numeric, 0.1::float8 AS float8, 'NaN'::float4 AS nan, true AS yes, false AS no,
      '7'::xid8 AS xid8, '\\x00ff80'::bytea AS bytea, 'x'::name AS name, textout('ü "x"') AS cstring, '{"a": [1, "ü"]}'::jsonb AS jsonb,
      '[1]'::json AS json, '{1,2,NULL}'::int[] AS ints, '{a,"b c",NULL,"\\"\\\\"}'::text[] AS texts,
      '9b2e9b2e-0000-4000-8000-000000000000'::uuid AS uuid, interval '1 day' AS span, 1 AS twice, 2 AS twice`,
  },
  {
    text: `SELECT '2026-11-21 01:02:03.123456Z'::timestamptz AS micros, '2026-11-21 01:02:03.1234Z'::timestamptz AS cut,
      '2026-11-21 01:02:03Z'::timestamptz AS seconds, '-infinity'::timestamptz AS never, NULL::timestamptz AS none,
      '12026-11-21 01:02:03.123456Z'::timestamptz AS late, '0044-03-15 00:00:00.123Z BC'::timestamptz AS early,
      '0044-03-15 00:00:00.123456Z BC'::timestamptz AS earlier, '{"2026-11-21 01:02:03.5Z",NULL}'::timestamptz[] AS list,
      '2026-11-21'::date AS day, '2026-11-21 01:02:03.5'::timestamp AS local, '01:02:03'::time AS time`,
  },
  {
    text: "SELECT 'plain' AS a, 'für alle' AS b, '日本語' AS c, '🐘' AS d, '' AS e, NULL AS f, 'plain again' AS g",
  },
  { text: "SELECT 'ü' || repeat('x', 200) AS a, repeat('ü', 100) AS b, repeat('y', 3000) AS c, 'ö' AS d" },
  {
    text: 'SELECT $1::text AS a, $2::int AS b, $3::boolean AS c, $4::bytea AS d',
    values: ['ü', 7, true, null],
  },
  { text: 'SELECT $1::bytea AS a, $2::text AS b', values: [Buffer.from([0, 1, 255]), 'beside bytes'] },
  { text: 'SELECT $1::text[] AS a', values: [['a"b', null, '{}', '\\', '', 'NULL', 'ü,']] },
  {
    text: 'SELECT $1::text[] AS a, $2::int[] AS b',
    values: [
      [
        ['a', 'b'],
        ['c', null],
      ],
      [],
    ],
  },
  { text: 'SELECT $1::bytea[] AS a', values: [[Buffer.from([0, 255]), Buffer.alloc(0)]] },
  { text: 'SELECT $1::jsonb AS a', values: [{ a: ['ü', { b: null }] }] },
  { text: "DO $$ BEGIN RAISE NOTICE 'by the way'; END $$" },
  { text: "SET application_name = 'parley-test'" },
  { text: 'LISTEN something' },
  { text: "NOTIFY something, 'else'" },
  { text: "SELECT set_config('application_name', 'again', false) AS name" },
  { text: 'SELECT 1 / $1::int AS fraction', values: [0] },
  { text: 'SELECT 1 / (3 - n) AS fraction FROM generate_series(1, 3) AS n' },
  { text: 'SELECT missing FROM things' },
  { text: 'SELEC' },
  { text: "INSERT INTO things VALUES (1, 'twice')" },
  { text: "DO $$ BEGIN RAISE EXCEPTION 'no' USING HINT = 'ü', DETAIL = 'd', ERRCODE = 'P4242'; END $$" },
  { text: 'SELECT 9007199254740992::int8 FROM generate_series(1, 3)' },
  { text: "SELECT repeat('z', 4000) AS long, n FROM generate_series(1, 3) AS n" },
];

/** Sizes of the pieces in which Postgres' bytes arrive, at most. */
for (const most of [1, 4, 60, 1_500, 70_000]) {
  t.test(`pieces of ${most} bytes: each answer is the one that pg gives`, async (t) => {
    const { url } = await createTestDatabase(t);
    const expected = await answersOfPg(t, url);
    const split = await cutting(t, url, new Random(most), most);
    const connection = await open(t, split.url);
    for (const use of ['first', 'second']) {
      const answers = await Promise.all(
        CASES.map(({ text, values = [] }, index) =>
          connection.query({ name: `case-${index}`, text }, ...values).then(
            (rows) => ({ rows }),
            (error) => ({ error: { ...error, message: error.message } }),
          ),
        ),
      );
      for (const [index, { text }] of CASES.entries())
        t.same(answers[index], expected[index], `${use} ${text}`);
    }
  });
}

t.test('messages are found wherever their bytes are cut', async (t) => {
  const sizes = [0, 1, 2, 300, 0, 0, 7];
  const bytes = Buffer.concat(
    sizes.map((size, index) => {
      const message = Buffer.alloc(5 + size, index);
      message[0] = 65 + index;
      message.writeInt32BE(4 + size, 1);
      return message;
    }),
  );
  const expected = sizes.map((size, index) => [65 + index, Buffer.alloc(size, index)] as const);
  const random = new Random(1);
  const cuts = [
    ...Array.from({ length: bytes.length }, (_, at) => [at]),
    ...Array.from({ length: 300 }, () =>
      Array.from({ length: 1 + random.below(40) }, () => random.below(bytes.length)),
    ),
  ];
  for (const places of cuts) {
    const found: (readonly [number, Buffer])[] = [];
    const reader = new MessageReader((kind, all, start, end) => {
      found.push([kind, Buffer.from(all.subarray(start, end))]);
    });
    let from = 0;
    for (const to of [...places.sort((a, b) => a - b), bytes.length]) {
      reader.read(bytes.subarray(from, to));
      from = to;
    }
    if (!Buffer.from(JSON.stringify(found)).equals(Buffer.from(JSON.stringify(expected)))) {
      t.same(found, expected, `cut at ${places}`);
    }
  }
  const impossible = Buffer.from([65, 0, 0, 0, 3]);
  t.throws(() => new MessageReader(() => {}).read(impossible), /a message of 3 bytes/);
});

t.test('values larger than the buffers of the socket arrive whole, and in order', async (t) => {
  const connection = await open(t, (await createTestDatabase(t)).url);
  const echo = { name: 'echo', text: 'SELECT $1::text AS text' };
  await connection.query(echo, '');
  const texts = Array.from({ length: 12 }, (_, index) =>
    String(index % 10).repeat(index % 3 === 0 ? 4_000_000 : 3_000),
  );
  const answers = await Promise.all(texts.map((text) => connection.query(echo, text)));
  for (const [index, text] of texts.entries())
    t.ok(answers[index]?.[0] && 'text' in answers[index][0] && answers[index][0].text === text);
});

t.test('a statement whose columns have changed is prepared again', async (t) => {
  const connection = await open(t, (await createTestDatabase(t)).url);
  await connection.query({ name: 'make', text: 'CREATE TABLE growing (a int)' });
  const all = { name: 'all', text: 'SELECT * FROM growing' };
  await connection.query({ name: 'add', text: 'INSERT INTO growing VALUES (1)' });
  t.same(await connection.query(all), [{ a: 1 }]);
  await connection.query({ name: 'grow', text: 'ALTER TABLE growing ADD COLUMN b int' });
  await t.rejects(connection.query(all), { code: '0A000' });
  const answers = await Promise.all([1, 2, 3].map(() => connection.query(all)));
  t.same(answers, Array(3).fill([{ a: 1, b: null }]));
  await connection.query({ name: 'forget', text: 'DEALLOCATE ALL' });
  await t.rejects(connection.query(all), { code: '26000' });
  t.same(await connection.query(all), [{ a: 1, b: null }]);
});

t.test('one name for two statements is refused', async (t) => {
  const connection = await open(t, (await createTestDatabase(t)).url);
  t.same(await connection.query({ name: 'n', text: 'SELECT 1 AS n' }), [{ n: 1 }]);
  await t.rejects(connection.query({ name: 'n', text: 'SELECT 2 AS n' }), /two statements/);
});

t.test('a connection that ends within a message rejects what was sent, and comes back', async (t) => {
  const { url } = await createTestDatabase(t);
  const split = await cutting(t, url, new Random(2), 50);
  const connection = await open(t, split.url);
  const rows = { name: 'rows', text: "SELECT repeat('x', 1000) AS x FROM generate_series(1, 50)" };
  t.equal((await connection.query(rows)).length, 50);
  split.cutAfter(20_000);
  const errors = await Promise.all([1, 2, 3].map(() => connection.query(rows).catch((error) => error)));
  for (const error of errors) t.ok(error instanceof DatabaseUnavailableError, `${error}`);
  await until(() => connection.connected, { what: 'the connection is back' });
  t.equal((await connection.query(rows)).length, 50);
});

t.test('a COPY, which has no place here, costs the connection and nothing more', async (t) => {
  const connection = await open(t, (await createTestDatabase(t)).url);
  await t.rejects(
    connection.query({ name: 'copy', text: 'COPY (SELECT 1) TO STDOUT' }),
    /unexpected message/,
  );
  await until(() => connection.connected, { what: 'the connection is back' });
  t.same(await connection.query({ name: 'one', text: 'SELECT 1 AS one' }), [{ one: 1 }]);
});

t.test('the stack of an error names the caller', async (t) => {
  const connection = await open(t, (await createTestDatabase(t)).url);
  async function asker() {
    return await connection.query({ name: 'bad', text: 'SELECT 1 / 0' });
  }
  const error = await asker().catch((error) => error);
  t.match(error.stack, /asker/);
});

/** What pg gives for each of CASES. */
async function answersOfPg(t: Teardown, url: string): Promise<unknown[]> {
  const client = new pg.Client({
    ...connectionOptions({ url, statementTimeoutMs: 0, queryTimeoutMs: 0 }),
    keepAlive: false,
  });
  await client.connect();
  t.teardown(() => client.end());
  let answers: unknown[] = [];
  // The first use makes the table and its row; the answers are those of the second.
  for (let use = 1; use <= 2; use++) {
    answers = [];
    for (const [index, { text, values = [] }] of CASES.entries()) {
      const query = client.query({ name: `case-${index}`, text, values: [...values] });
      answers.push(
        await query.then(
          ({ rows }) => ({ rows }),
          (error) => ({ error: { ...error, message: error.message } }),
        ),
      );
    }
  }
  return answers;
}

/** Passes Postgres' bytes on in pieces of up to `most` bytes. */
async function cutting(
  t: Teardown,
  url: string,
  random: Random,
  most: number,
): Promise<{ url: string; cutAfter(bytes: number): void }> {
  const { hostname, port } = new URL(url);
  const host = decodeURIComponent(hostname);
  let left = Number.POSITIVE_INFINITY;
  const sockets = new Set<Socket>();
  const pass = async (chunk: Buffer, client: Socket) => {
    for (let at = 0; at < chunk.length && left > 0; ) {
      const size = 1 + random.below(most);
      client.write(chunk.subarray(at, at + size));
      at += size;
      left -= size;
      await new Promise(setImmediate);
    }
    if (left > 0) return;
    left = Number.POSITIVE_INFINITY;
    client.destroy();
  };
  const server = createServer({ noDelay: true }, async (client) => {
    const upstream = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(Number(port), host);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
    }
    client.pipe(upstream);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    try {
      for await (const chunk of upstream as AsyncIterable<Buffer>) await pass(chunk, client);
    } catch {
      // One of the two sides was closed.
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.');
  const own = new URL(url);
  own.port = String(address.port);
  own.hostname = '127.0.0.1';
  return {
    url: own.href,
    cutAfter: (bytes) => {
      left = bytes;
    },
  };
}

async function open(t: Teardown, url: string): Promise<PipelinedConnection> {
  const connection = new PipelinedConnection({
    primary: new Primary({ url, log }),
    log,
    queryTimeoutMs: 60_000,
  });
  await connection.open();
  t.teardown(() => connection.close());
  return connection;
}
