/**
 * Exports and erasures over two nodes: both are killed in the middle, and data that one node erases
 * is gone on the other.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Erasure } from '@parley/protocol/resources/erasure.ts';
import type { Export } from '@parley/protocol/resources/export.ts';
import t from 'tap';
import { runAdmin } from '../../src/app/admin/run.ts';
import { readConfig } from '../../src/app/config.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { createLog } from '../../src/platform/log.ts';
import { createGroup, startCluster } from '../support/cluster.ts';
import { AUDIT_KEY, Listener, type TestNode } from '../support/node.ts';
import { until } from '../support/until.ts';

const log = createLog('silent');
const cluster = await startCluster(t);
const [one, other] = cluster.nodes;
const database = await openDatabase({ url: cluster.databaseUrl, log });
t.teardown(() => database.close());

t.test('an erased person has no name on any node, in pages, live and after a resume', async (t) => {
  const { vera } = one.demo.users;
  const id = await createGroup(one, 'Erased');
  const listening = await other.listen(id);
  const grace = one.demo.users.grace.access_token;
  await one.send(id, { body: 'before' }, grace);
  await until(() => listening.created().length === 1, { what: 'the message' });
  t.match(JSON.stringify(listening.frames), 'Grace Hopper', 'its sender is shown');
  const { cursor } = listening;
  const path = `/v1/messaging/conversations/${id}/messages?include[]=sender&include[]=author`;
  for (let page = 0; page < 3; page++) {
    t.match((await get(other, path)).sender, { name: 'Grace Hopper' });
  }
  const erased = await call(one, 'POST', `/v1/users/${one.demo.users.grace.id}/actions/erase`, {
    messages: 'keep',
  });
  t.equal(erased.status, 201);
  await until(async () => (await other.send(id, {}, grace)).status === 401, { what: 'the end on the other' });
  await until(async () => (await get(other, path)).sender?.name === 'Deleted user', { what: 'the page' });
  await until(() => listening.frames.some(({ event }) => event === 'participant.updated'), {
    what: 'the event',
  });
  // Titles of notifications that name the person come last.
  const isComplete = async () => {
    const { body } = await call(one, 'GET', `/v1/erasures/${(erased.body as Erasure).id}`);
    return (body as Erasure).status === 'complete';
  };
  await until(isComplete, { what: 'the whole erasure' });
  for (const options of [{ afterSequence: 0 }, { cursor, afterSequence: 0 }]) {
    const back = await Listener.open(other, id, { ...options, token: vera.access_token });
    t.equal(back.created().length, 1);
    t.notMatch(JSON.stringify(back.frames), 'Hopper');
  }
});

t.test('an export whose node is killed starts over on another one, and has one result', async (t) => {
  const id = await createGroup(one, 'Exported', ['ada', 'vera']);
  const messages = 8_000;
  await database.query({
    name: 'test-many-messages',
    text: `
      INSERT INTO messages (id, account_id, conversation_id, sequence, kind, status, visibility, body)
      SELECT 'msg_' || lpad(n::text, 24, '0'), '${one.demo.account_id}', '${id}', n, 'chat', 'sent', 'internal',
        repeat('ahoy ', 100)
      FROM generate_series(1, ${messages}) n`,
  });
  const asked = await call(one, 'POST', `/v1/messaging/conversations/${id}/exports`);
  const exportId = (asked.body as Export).id;
  const rowOf = () =>
    database.kysely
      .selectFrom('compliance_jobs')
      .selectAll()
      .where('id', '=', exportId)
      .executeTakeFirstOrThrow();
  await until(async () => (await rowOf()).s3_key !== null, { what: 'its beginning' });
  const { fence, status } = await rowOf();
  t.equal(status, 'running', 'it has more to do than fits into this moment');
  // Which node runs it is not known: both are killed, and one comes back.
  await Promise.all([one.kill('SIGKILL'), other.kill('SIGKILL')]);
  await cluster.restart(0);
  // Its lease need not be waited for.
  await database.kysely
    .updateTable('compliance_jobs')
    .set({ lease_until: null })
    .where('id', '=', exportId)
    .execute();
  const [back] = cluster.nodes;
  const shown = await until(
    async () => {
      const { body } = await call(back, 'GET', `/v1/exports/${exportId}`);
      return (body as Export).status === 'complete' ? (body as Export) : undefined;
    },
    { what: 'the export' },
  );
  t.ok((await rowOf()).fence > fence, 'another attempt');
  const downloaded = await fetch(shown.url!);
  t.equal(downloaded.status, 200);
  const file = join(back.dataDir, 'export.zip');
  writeFileSync(file, Buffer.from(await downloaded.arrayBuffer()));
  const config = readConfig({ PARLEY_AUDIT_KEY: AUDIT_KEY });
  t.match(await runAdmin(['export', 'verify', '--file', file], config, log), {
    valid: true,
    counts: { messages },
    snapshot: { through_sequence: messages },
  });
  const audited = await database.kysely
    .selectFrom('audit_events')
    .select('id')
    .where('conversation_id', '=', id)
    .where('action', '=', 'export.completed')
    .execute();
  t.equal(audited.length, 1);
});

interface Shown {
  readonly sender: { readonly name: string } | null;
}

/** The only message of a page. */
async function get(node: TestNode, path: string): Promise<Shown> {
  const { body } = await node.call('GET', path);
  return (body.data as Shown[])[0]!;
}

/** In the version that has these endpoints; the sockets speak the version before. */
async function call(node: TestNode, method: string, path: string, body?: object) {
  const headers = { ...node.headers(), 'Service-Version': '1.2.harbor' };
  const response = await fetch(`${node.baseUrl}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as unknown };
}
