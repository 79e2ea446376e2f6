/**
 * The previous version, which has the migrations as single files, beside this one over a database
 * that either has made: the schema is the same, sends go on while this version migrates, and a
 * search on either finds messages written on both. Words that this version folds otherwise are
 * found on either as they were written, and on this one in their other forms.
 *
 * Without influence: OPERATION, PAGES, ANSWERS, packages/client, src/features/cells,
 * src/features/identity, src/features/import, src/features/mail, src/features/platform-events,
 * src/api/documents/pages, src/core/documents, src/platform/outbound.
 */

import { randomUUID } from 'node:crypto';
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { FileMigrationProvider, type MigrationProvider, Migrator } from 'kysely/migration';
import t, { type Test } from 'tap';
import * as baseline from '../../migrations/0048_incomplete.ts';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import { appliedMigrations } from '../../src/platform/db/migration/migrated.ts';
import { recordingUsability } from '../../src/platform/db/migration/usable-schema.ts';
import { runParley } from '../start/parley.ts';
import { Load } from '../support/cluster.ts';
import { describeSchema } from '../support/described-schema.ts';
import { checkOutEarlier } from '../support/earlier-checkout.ts';
import { startNode, type TestNode } from '../support/node.ts';
import { createEmptyDatabase, startPostgres } from '../support/postgres.ts';
import { startRedis } from '../support/redis.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';

/** A version with searches. */
const VERSION = '1.2.harbor';

const checkout = await checkOutEarlier(t, baseline.replaces.commit);
const server = await startPostgres(t);

t.test('the baseline makes what the files made one by one', async (t) => {
  const migrationFolder = path.join(checkout.root, 'migrations');
  const files = new FileMigrationProvider({ fs, path, migrationFolder });
  const [byFiles, byBaseline] = await Promise.all([create(t, 'by_files'), create(t, 'by_baseline')]);
  await migrateBy(byFiles, files);
  await migrateBy(byBaseline, { getMigrations: async () => ({ '0048_incomplete': baseline }) });
  const expected = await describeSchema(byFiles.kysely);
  t.ok(expected.length > 2_000);
  t.strictSame(await describeSchema(byBaseline.kysely), expected);
  t.strictSame(await appliedMigrations(byBaseline), await appliedMigrations(byFiles));
});

for (const [made, isByFiles] of [
  ['the files', true],
  ['the baseline', false],
] as const) {
  t.test(`both versions on a database that ${made} made`, async (t) => {
    const database = await create(t, `beside_${isByFiles}`);
    const redis = await startRedis(t);
    const start = async (isEarlier: boolean) => {
      const node = await startNode(t, {
        databaseUrl: database.url,
        redisUrl: redis.url,
        ...(isEarlier && { earlier: checkout }),
      });
      return node.at(VERSION);
    };
    const first = await start(isByFiles);
    const conversationId = first.demo.conversations.group;
    const load = new Load(t, () => first, conversationId, { label: 'first', width: 2 });
    const sentMore = async () => {
      const before = load.acknowledged.length;
      await until(() => load.acknowledged.length > before + 20, { what: 'sends to the first node' });
    };
    await sentMore();
    const { code, stderr } = await runParley(['admin', 'migrate'], { DATABASE_URL: database.url });
    t.equal(code, 0, stderr);
    await sentMore();
    const nodes = [first, await start(!isByFiles)];
    await sentMore();
    await load.stop();
    t.strictSame(
      load.sent.filter(({ status }) => status !== 201),
      [],
      'none refused',
    );

    const search = new Searches(nodes, database, nodes[isByFiles ? 1 : 0]!);
    await t.test('what is sent, edited and redacted on either node', (t) => search.findAlike(t));
    await t.test('words that both versions fold differently', (t) => search.findFolded(t));
    await t.test('while the entries are filled', (t) => search.findWhileFilled(t));
    await t.test('what the version before notes where a case gets another author', (t) =>
      search.findNoted(t),
    );
    for (const node of nodes) await node.kill('SIGTERM');
  });
}

/** A word of each class that this version folds otherwise, and other ways to write it. */
const FOLDED: Readonly<Record<string, readonly string[]>> = {
  Łódź: ['lodz'],
  'Đà Nẵng': ['da nang'],
  'Liefer\u00adschein': ['lieferschein', 'Liefer\u200bschein'],
  مـحـمـد: ['محمد', 'مُحَمَّد'],
  کتابی: ['كتابي'],
  ['한국어'.normalize('NFD')]: ['한국어', '국어'],
  'Hafen ٣٤': ['hafen 34'],
};

/** Searches of the members of one group on two nodes. */
class Searches {
  readonly #nodes: readonly TestNode[];
  readonly #database: Database;
  readonly #current: TestNode;

  constructor(nodes: readonly TestNode[], database: Database, current: TestNode) {
    this.#nodes = nodes;
    this.#database = database;
    this.#current = current;
  }

  async findFolded(t: Test): Promise<void> {
    const sent = new Map<string, string[]>();
    for (const word of Object.keys(FOLDED)) {
      const ids: string[] = [];
      for (const node of this.#nodes) ids.push(await this.#send(node, word));
      sent.set(word, ids);
    }
    const findAll = async () => {
      for (const [word, ids] of sent) await this.#allFind(t, word, ids);
    };
    await findAll();
    await this.#indexed();
    await until(async () => (await this.#rowsOf('search_entries WHERE folding < 2')) === 0, {
      what: 'entries of this folding',
    });
    await findAll();
    for (const [word, ids] of sent) {
      for (const q of FOLDED[word]!) t.strictSame(await this.#find(this.#current, q), ids.sort(), q);
    }
    for (const node of this.#nodes) {
      const name = `Łódź ${randomUUID()}`;
      const made = await node.call('POST', '/v1/entities', { name });
      t.equal(made.status, 201);
      const q = encodeURIComponent(name.replace('Łódź', 'lodz'));
      const { body } = await this.#current.call('GET', `/v1/entities?q=${q}`);
      t.match(body.data, [{ name }], 'a name, at once');
    }
  }

  async findAlike(t: Test): Promise<void> {
    const sent: string[] = [];
    for (const node of this.#nodes) sent.push(await this.#send(node, 'corvette beside'));
    await this.#allFind(t, 'corvette', sent);
    await this.#indexed();
    await this.#allFind(t, 'corvette', sent);
    t.equal(await this.#entriesWith('corvette'), 2);

    for (const [n, node] of this.#nodes.entries()) {
      const edited = await node.call(
        'PATCH',
        `/v1/messaging/messages/${sent[n]}`,
        { body: 'frigate' },
        node.demo.users.ada.access_token,
      );
      t.equal(edited.status, 200);
      await this.#allFind(t, 'corvette', sent.slice(n + 1));
    }
    await this.#indexed();
    await this.#allFind(t, 'frigate', sent);
    for (const [n, node] of this.#nodes.entries()) {
      const redaction = `/v1/messaging/messages/${sent[n]}/actions/redact`;
      t.equal((await node.call('POST', redaction, { reason: 'spam' })).status, 200);
      t.equal(await this.#entriesWith('frigate'), 1 - n, 'gone with the commit');
    }
    await this.#indexed();
    t.equal(await this.#entriesWith('frigate'), 0);
    await this.#allFind(t, 'frigate', []);
  }

  async findWhileFilled(t: Test): Promise<void> {
    const old = await this.#send(this.#nodes[0]!, 'galleon');
    await this.#indexed();
    const { pool } = this.#database;
    await pool.query(`UPDATE search_state SET filled_through = '', next_part_at = now() + interval '1 hour'`);
    await pool.query('DELETE FROM search_entries');
    const recent = await this.#send(this.#nodes[1]!, 'galleon too');
    await this.#allFind(t, 'galleon', [recent]);
    await pool.query('UPDATE search_state SET next_part_at = now()');
    await until(async () => (await this.#rowsOf('search_state WHERE filled_through IS NULL')) === 1, {
      what: 'entries of everything',
    });
    await this.#allFind(t, 'galleon', [old, recent]);
  }

  async findNoted(t: Test): Promise<void> {
    const id = await this.#send(this.#nodes[0]!, 'schooner');
    await this.#indexed();
    const { pool } = this.#database;
    await pool.query(
      `INSERT INTO search_changes (changed_ids, changed_of, conversation_ids)
       SELECT ARRAY[id], ARRAY[conversation_id], ARRAY[conversation_id] FROM messages WHERE id = $1`,
      [id],
    );
    await this.#indexed();
    t.equal(await this.#entriesWith('schooner'), 1);
    await this.#allFind(t, 'schooner', [id]);
  }

  async #send(node: TestNode, body: string): Promise<string> {
    const { demo } = node;
    const fields = { body, client_message_id: randomUUID() };
    const answer = await node.send(demo.conversations.group, fields, demo.users.ada.access_token);
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return String(answer.body.id);
  }

  async #allFind(t: Test, q: string, ids: readonly string[]): Promise<void> {
    for (const node of this.#nodes) t.strictSame(await this.#find(node, q), [...ids].sort(), q);
  }

  async #find(node: TestNode, q: string): Promise<string[]> {
    const { status, body } = await node.call('GET', `/v1/messaging/search?q=${encodeURIComponent(q)}`);
    if (status !== 200) throw new Error(JSON.stringify(body));
    return (body.data as { message: { id: string } }[]).map(({ message }) => message.id).sort();
  }

  /** Resolves when everything that was committed is in the index. */
  async #indexed(): Promise<void> {
    const waiting = '(SELECT FROM outbox UNION ALL SELECT FROM search_notes) w';
    await until(async () => (await this.#rowsOf(waiting)) === 0, { what: 'an index of everything' });
  }

  #entriesWith(word: string): Promise<number> {
    return this.#rowsOf(`search_entries WHERE terms::text LIKE '%${word}%'`);
  }

  async #rowsOf(rows: string): Promise<number> {
    const found = await this.#database.pool.query(`SELECT count(*)::int AS count FROM ${rows}`);
    return found.rows[0].count;
  }
}

/** Returns an empty database of that name. */
async function create(t: Test, name: string): Promise<Database & { readonly url: string }> {
  const url = await createEmptyDatabase(server, name);
  const database = await openDatabase({ url, log });
  t.teardown(() => database.close());
  return Object.assign(database, { url });
}

async function migrateBy({ kysely }: Database, provider: MigrationProvider): Promise<void> {
  const { error } = await new Migrator({
    db: kysely,
    provider: recordingUsability(provider),
  }).migrateToLatest();
  if (error !== undefined) throw error;
}
