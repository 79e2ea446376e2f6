/**
 * A node without each feature: other features go on, and nothing of it grows or is retried.
 *
 * Without influence: src/app/admin, src/app/demo, src/app/supervise.ts, src/app/supervisor,
 * src/app/tail.ts, packages/client, src/edge/console, packages/widget,
 * src/api/documents/pages, src/core/documents, packages/ui.
 */

import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type pg from 'pg';
import { pino } from 'pino';
import t from 'tap';
import type { Route } from '../../src/api/pipeline/route.ts';
import { FEATURES } from '../../src/app/features.ts';
import { noteFeatures, TASKS_OF_FEATURES, TOPICS_OF_FEATURES } from '../../src/app/left-out.ts';
import type { Feature } from '../../src/core/features/feature.ts';
import { hooksOf } from '../../src/core/features/feature.ts';
import { beginAccountRemoval } from '../../src/features/compliance/account-removal.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { createLog } from '../../src/platform/log.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { until } from '../support/until.ts';

const FOLDERS = readdirSync(resolve(import.meta.dirname, '../../src/features'));

/** What rows of a build with the feature may be there. */
const HANDLED: Readonly<Record<string, { outbox: readonly string[]; jobs: readonly string[] }>> = {
  agents: { outbox: ['agent_runs.approval', 'agent_runs.due', 'agent_runs.ended'], jobs: [] },
  mail: {
    outbox: ['addresses.confirmation_due', 'mail.received', 'messages.email_due'],
    jobs: ['mail.answer_unread'],
  },
  'platform-events': { outbox: ['platform_events.raised'], jobs: [] },
  compliance: { outbox: [], jobs: ['finish_redaction'] },
  questions: { outbox: ['questions.ended'], jobs: [] },
  widgets: { outbox: [], jobs: ['visitor_claimed'] },
};
/** Accounts are moved by commands, and the path of assistants has a protocol of its own. */
const WITHOUT_ENDPOINTS: ReadonlySet<string> = new Set(['cells', 'mcp']);
type Sent = Readonly<Record<'agent_run' | 'agent_run_id' | 'email_status' | 'cc', unknown>>;
const HEADERS = { 'Service-Version': '1.2.harbor' };

t.strictSame(
  Object.values(HANDLED)
    .flatMap(({ outbox, jobs }) => [...outbox, ...jobs])
    .sort(),
  [...TOPICS_OF_FEATURES, ...TASKS_OF_FEATURES].sort(),
);

const whole = await startTestApp(t);

for (const folder of FOLDERS) {
  t.test(`a node without ${folder}`, async (t) => {
    const { features } = await without(folder);
    const warned: { topic?: string; level: number; msg: string }[] = [];
    const log = pino({ level: 'warn' }, { write: (line) => void warned.push(JSON.parse(line)) });
    const app = await startTestApp(t, {}, log, { features });

    const missing = whole.routes.filter((route) => !app.routes.some((it) => keyOf(it) === keyOf(route)));
    t.equal(missing.length > 0, !WITHOUT_ENDPOINTS.has(folder), 'it has endpoints');
    const document = await documented(app);
    for (const route of missing) {
      const { status, body } = await request(app, route);
      const isShared = app.routes.some((it) => shapeOf(it) === shapeOf(route));
      // To callers that are no operators, nothing is at the paths of operators.
      const isHidden = route.operators !== undefined;
      t.equal(status, isShared && !isHidden ? 405 : 404, keyOf(route));
      t.type(body.error?.code, 'string', `${keyOf(route)} answers the envelope`);
      t.notOk(document[route.path]?.[route.method.toLowerCase()], `${keyOf(route)} is not documented`);
    }

    const { conversations } = app.demo;
    const path = `/v1/messaging/conversations/${conversations.group}/messages`;
    const body = { body: 'ahoy', client_message_id: randomUUID() };
    const sent = await app.call<Sent>('POST', path, { body, headers: HEADERS });
    t.equal(sent.status, 201);
    const { agent_run, agent_run_id, email_status, cc } = sent.body;
    t.strictSame([agent_run, agent_run_id, email_status, cc], [null, null, null, null]);

    const topics = HANDLED[folder] ?? { outbox: [], jobs: [] };
    for (const topic of [...topics.outbox, ...topics.outbox]) {
      await app.database.pool.query(
        `INSERT INTO outbox (topic, payload, due_at) VALUES ($1, '{}', clock_timestamp())`,
        [topic],
      );
    }
    for (const task of topics.jobs) {
      await app.database.pool.query(
        `INSERT INTO jobs (topic, payload, due_at) VALUES ($1, '{}', clock_timestamp())`,
        [task],
      );
    }
    await until(
      async () =>
        (await rowsOf(app.database.pool, 'outbox')) + (await rowsOf(app.database.pool, 'jobs')) === 0,
      {
        what: 'an empty outbox and an empty queue',
      },
    );
    const dropped = warned.flatMap(({ topic = '', msg }) => (msg.startsWith('rows of a topic') ? topic : []));
    t.strictSame(dropped.sort(), [...topics.outbox, ...topics.jobs].sort(), 'one line for each topic');
    t.strictSame(
      warned.filter(({ level }) => level >= 50),
      [],
      'no errors are logged',
    );
  });
}

t.test('an account with rows of a feature that is left out is not removed', async (t) => {
  const { url } = await createTestDatabase(t);
  const env = { DATABASE_URL: url };
  await t.test('a node with webhooks', async (t) => {
    const app = await startTestApp(t, env);
    const body = { url: 'https://hooks.example.com/in', event_types: ['message.created'] };
    t.equal((await app.call('POST', '/v1/webhooks', { body, headers: HEADERS })).status, 201);
  });
  const { features } = await without('webhooks');
  const { demo } = await startTestApp(t, env, undefined, { features });
  const database = await openDatabase({ url, log: createLog('silent'), hooks: hooksOf(features) });
  t.teardown(() => database.close());
  const remove = () => database.transaction((tx) => beginAccountRemoval(tx, undefined, demo.account_id));
  await t.rejects(remove(), /has rows in webhooks, which no feature of this build removes/);
  await database.pool.query('DELETE FROM webhooks');
  t.equal((await remove()).id, demo.account_id);
});

t.test('search that was left out leaves no notes, and finds all once it is back', async (t) => {
  const { url } = await createTestDatabase(t);
  const env = { DATABASE_URL: url };
  let conversationId = '';
  const { features } = await without('search');
  const database = await openDatabase({ url, log: createLog('silent'), hooks: hooksOf(features) });
  t.teardown(() => database.close());
  const { pool } = database;
  const setting = async () =>
    (await pool.query(`SELECT value FROM settings WHERE name = 'feature_search_entries'`)).rows[0]?.value;

  await t.test('a node without search accepts sends', async (t) => {
    const app = await startTestApp(t, env, undefined, { features });
    conversationId = app.demo.conversations.group;
    const path = `/v1/messaging/conversations/${conversationId}/messages`;
    const send = async (body: string) => {
      t.equal(
        (await app.call('POST', path, { body: { body, client_message_id: randomUUID() } })).status,
        201,
      );
      await until(async () => (await rowsOf(pool, 'outbox')) === 0, { what: 'an empty outbox' });
    };
    await until(async () => (await setting()) === 'there', { what: 'a row that says that search is there' });
    await send('corvette before');
    t.ok((await rowsOf(pool, 'search_notes')) > 0, 'another node may have search: the notes stay');

    await pool.query(
      `UPDATE settings SET created_at = created_at - interval '4 min' WHERE name = 'feature_search_entries'`,
    );
    await noteFeatures(database);
    t.equal(await setting(), 'left out');
    await pool.query('DELETE FROM search_notes');
    await send('corvette meanwhile');
    t.equal(await rowsOf(pool, 'search_notes'), 0);
  });

  await startTestApp(t, env);
  await until(async () => (await setting()) === 'there', { what: 'a row that says that search is back' });
  await until(async () => (await rowsOf(pool, 'search_state WHERE filled_through IS NULL')) === 1, {
    what: 'a filled index',
  });
  const { rows } = await pool.query(
    `SELECT count(*)::int AS messages FROM search_entries WHERE conversation_id = $1 AND id <> conversation_id`,
    [conversationId],
  );
  t.strictSame(rows, [{ messages: 2 }]);
});

async function without(folder: string): Promise<{ features: Feature[] }> {
  const faces: Record<string, Feature> = await import(
    join(import.meta.dirname, '../../src/features', folder, 'feature.ts')
  );
  const left = Object.values(faces).find((face) => FEATURES.includes(face))!;
  return { features: FEATURES.filter((feature) => feature !== left) };
}

function keyOf({ method, path }: Pick<Route, 'method' | 'path'>): string {
  return `${method} ${path}`;
}

/** The path as a router sees it. */
function shapeOf({ path }: Route): string {
  return path.replace(/\{[^}]+\}|:\w+/g, '{}');
}

async function request({ baseUrl, demo }: TestApp, { method, path }: Route) {
  const response = await fetch(`${baseUrl}${path.replace(/\{[^}]+\}|:\w+/g, 'none')}`, {
    method,
    headers: {
      Authorization: `Bearer ${demo.api_key}`,
      'Service-Version': demo.service_version,
      'Service-Account': demo.account_id,
    },
  });
  return { status: response.status, body: (await response.json()) as { error?: { code?: string } } };
}

async function documented({ baseUrl }: TestApp): Promise<Record<string, Record<string, unknown>>> {
  const { paths } = (await (await fetch(`${baseUrl}/v1/openapi.json`)).json()) as {
    paths: Record<string, Record<string, unknown>>;
  };
  return paths;
}

async function rowsOf(db: Pick<pg.Pool, 'query'>, rows: string): Promise<number> {
  return (await db.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${rows}`)).rows[0]!.count;
}
