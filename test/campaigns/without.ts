import { chmodSync, existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { freshDirectory, ROOT, startParley } from '../start/parley.ts';
import { deliveryProblems } from '../support/check-delivery.ts';
import { checkCluster, Load } from '../support/cluster.ts';
import { compile, copyWithout } from '../support/copy-without.ts';
import { type Listener, startNode } from '../support/node.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { QuietWrites } from '../support/quiet-writes.ts';
import type { Random } from '../support/random.ts';
import { startRedis } from '../support/redis.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface WithoutOptions extends Seeded {
  /** The folder of features/ that the copy lacks. */
  readonly feature: string;
  /** Whether the copy is type-checked. */
  readonly types: boolean;
  /** Folders of test/ whose suites run in the copy. */
  readonly suites: readonly string[];
  /** Seconds for which the node of the copy is used. */
  readonly seconds: number;
  /** Seconds for which nothing is sent to it afterwards. */
  readonly quietSeconds: number;
}

interface WithoutFigures extends Found {
  /** Test files that ran in the copy. */
  readonly files: number;
  /** Test files of these folders that need the feature and did not run. */
  readonly needing: readonly string[];
  readonly acknowledged: number;
  /** Acknowledged changes in other conversations, by kind. */
  readonly changes: Readonly<Record<string, number>>;
  /** Sockets that followed from some message on. */
  readonly followers: number;
  readonly tables: number;
}

/** Requests of test files that need a feature, or the demo account's part of it. */
const REQUESTS: Readonly<Record<string, RegExp>> = {
  agents: /\/v1\/ai\/|demo\.agent\.id|@assistant/,
  compliance:
    /\/v1\/(erasures|exports|account\/retention)|\/(exports|actions\/(erase|redact|restore))\b|'DELETE', `?[^,]*conversations\/[^/,]*[`'],?|set-legal-hold/,
  'customer-cards': /customer-card-source|participants\/[^/]+\/card/,
  questions: /actions\/(answer|withdraw)\b|withdraw_question|\bquestion:/,
  mail: /\/v1\/(mail|messaging\/inboxes)|\/(email|actions\/resend)\b/,
  'platform-events': /\/v1\/events/,
  push: /push-subscriptions|push-worker/,
  search: /\/v1\/messaging\/search/,
  webhooks: /\/v1\/(webhooks|account\/question-callbacks)/,
};

/** Suites that concern no feature. Files in them that need a feature are found automatically. */
const SUITES = [
  'access',
  'accounts',
  'attachments',
  'audit',
  'conversations',
  'db',
  'engine',
  'gateway',
  'http',
  'jobs',
  'messages',
  'notifications',
  'outbound',
  'resources',
];

/** Files that compare the whole contract with something, and so need all features. */
const WHOLE_CONTRACT = [
  'asyncapi',
  'changes',
  'console',
  'customers',
  'demo-page',
  'error-messages',
  'golden-shapes',
  'golden',
  'guides',
  'hostile',
  'id-filters',
  'joined-rules',
  'lists',
  'matrix',
  'openapi',
  'pages',
  'references',
  'rules',
  'same-rows',
  'versions',
]
  .map((name) => `test/http/${name}.test.ts`)
  .concat('test/jobs/topics.test.ts');

/**
 * A copy of the checkout without a feature: its types hold, the suites of the rest pass, and its
 * node is used for a while. In the end nothing is lost, nothing waits, no table grows while nothing
 * is sent, and no error was logged.
 */
export const without = campaign({
  words: readdirSync(join(ROOT, 'src/features')),
  whole: (_seed, feature) => ({ feature, types: true, suites: SUITES, seconds: 300, quietSeconds: 60 }),
  run,
});

async function run(t: Teardown, options: WithoutOptions, random: Random): Promise<WithoutFigures> {
  const { feature, types, suites } = options;
  const copy = freshDirectory(t);
  const left = ['packages', 'src', 'package.json', 'tsconfig.json', 'node_modules', '.git', '.data', '.tap'];
  const rest = readdirSync(ROOT).filter((entry) => !left.includes(entry));
  copyWithout([feature], copy, [...rest, ...globSync('packages/**/dist', { cwd: ROOT })]);
  const problems: string[] = [];
  if (types) {
    const found = await compile(copy);
    if (found !== '') problems.push(found);
  }
  const { ran, needing, failed } = await runSuites(t, { copy, feature, suites });
  const used = await exerciseNode(t, { copy, options, random });
  return { ...used, files: ran, needing, problems: [...problems, ...failed, ...used.problems] };
}

interface Suites {
  readonly copy: string;
  readonly feature: string;
  readonly suites: readonly string[];
}

/** Runs the suites one after another, each file in a separate process. */
async function runSuites(t: Teardown, { copy, feature, suites }: Suites) {
  // Postgres enters both as another user. Below the copy, tests would find its dependencies.
  const TMPDIR = freshDirectory(t);
  chmodSync(copy, 0o711);
  chmodSync(TMPDIR, 0o1777);
  const files = suites
    .flatMap((folder) => globSync(`test/${folder}/*.test.ts`, { cwd: ROOT }).sort())
    .filter((path) => !WHOLE_CONTRACT.includes(path));
  const needing = files.filter((path) => needs(feature, join(ROOT, path)));
  const failed: string[] = [];
  const running = files.filter((path) => !needing.includes(path));
  for (const path of running) {
    const command = [process.execPath, '--import=./test/support/quick-tap.js', path] as const;
    const { ended } = startParley(t, { TMPDIR, TAP_TIMEOUT: '1800' }, { command, cwd: copy });
    const { code, stdout, stderr } = await ended;
    const lines = stdout.split('\n').filter((line) => /^\s*not ok/.test(line));
    if (code !== 0) failed.push(`${path}: ${[...lines.slice(0, 5), stderr.slice(-1_000)].join('\n')}`);
  }
  return { ran: running.length, needing: needing.map((path) => basename(path)), failed };
}

/** Returns whether a test file, or a file it imports, imports a feature or requests part of it. */
function needs(feature: string, path: string, seen = new Set<string>()): boolean {
  if (seen.has(path)) return false;
  seen.add(path);
  const text = readFileSync(path, 'utf8');
  if (text.includes(`/features/${feature}/`) || REQUESTS[feature]?.test(text)) return true;
  const imported = [...text.matchAll(/(?:from|import\() ?'(\.[^']+\.ts)'/g)].map(([, to]) =>
    resolve(dirname(path), to!),
  );
  return imported.some(
    (to) => to.startsWith(join(ROOT, 'test')) && existsSync(to) && needs(feature, to, seen),
  );
}

interface Use {
  readonly copy: string;
  readonly options: WithoutOptions;
  readonly random: Random;
}

/** Sends, edits, deletes, reads and follows, then waits. */
async function exerciseNode(t: Teardown, { copy, options, random }: Use) {
  const [redis, { url }] = await Promise.all([startRedis(t), createTestDatabase(t)]);
  const node = await startNode(t, {
    databaseUrl: url,
    redisUrl: redis.url,
    command: [process.execPath, join(copy, 'bin/parley.cjs'), 'start'],
  });
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  t.teardown(() => pool.end());
  const conversationId = node.demo.conversations.group;
  const first = await node.listen(conversationId, { afterSequence: 0 });
  const quiet = await QuietWrites.start(t, { nodes: () => [node], random, conversations: 3 });
  const load = new Load(t, () => node, conversationId, { label: 'without', width: 2 });
  const followers: { readonly from: number; readonly listener: Listener }[] = [];
  const endsAt = performance.now() + options.seconds * 1_000;
  while (performance.now() < endsAt) {
    await pause(100 + random.below(options.seconds * 100));
    const from = random.below(1 + (first.sequences().at(-1) ?? 0));
    followers.push({ from, listener: await node.listen(conversationId, { afterSequence: from }) });
  }
  await quiet.pass();
  await Promise.all([load.stop(), quiet.stop()]);

  const nodes = [node, node] as const;
  const problems = await checkCluster({ nodes, conversationId }, [first], load.acknowledged);
  const stored = (await node.page(conversationId)).map(({ sequence }) => sequence);
  for (const { from, listener } of followers) {
    const expected = stored.filter((sequence) => sequence > from);
    // A replay that is too long is answered with `resync`, and its reader pages.
    if (listener.frames.some(({ type }) => type === 'resync')) continue;
    await until(() => listener.created().length >= expected.length, { what: `messages after ${from}` });
    problems.push(...deliveryProblems(listener.sequences(), expected).map((it) => `after ${from}: ${it}`));
  }
  const { rowCount } = await pool.query('SELECT FROM messages WHERE id = ANY($1)', [quiet.acknowledged]);
  if (rowCount !== quiet.acknowledged.length) {
    problems.push(`${rowCount} of ${quiet.acknowledged.length} acknowledged messages are stored`);
  }

  const waiting = async () => (await pool.query('SELECT FROM outbox UNION ALL SELECT FROM jobs')).rowCount;
  await until(async () => (await waiting()) === 0, { what: 'an empty outbox and an empty queue' }).catch(
    async () => problems.push(`${await waiting()} rows wait in the outbox and the queue`),
  );
  let before = await countRows(pool);
  let grown: string[] = [];
  // Work that was under way may end in the first periods: a table that still grows in the last one
  // grows forever.
  for (let periods = 0; periods < 3; periods++) {
    await pause(options.quietSeconds * 1_000);
    const after = await countRows(pool);
    grown = [...after].flatMap(([table, rows]) => {
      const had = before.get(table) ?? 0;
      return rows > had ? [`${table} has grown from ${had} to ${rows} rows while nothing was sent`] : [];
    });
    before = after;
    if (grown.length === 0) break;
  }
  problems.push(...grown);
  problems.push(...node.running.stderr.split('\n').filter((line) => /"level":[56]0/.test(line)));
  return {
    acknowledged: load.acknowledged.length + quiet.acknowledged.length,
    changes: quiet.made,
    followers: followers.length,
    tables: before.size,
    problems,
  };
}

/** Returns the number of rows of every table, by its name. */
async function countRows(pool: pg.Pool): Promise<Map<string, number>> {
  const { rows: tables } = await pool.query<{ name: string }>(`
    SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) AS name FROM information_schema.tables
    WHERE table_type = 'BASE TABLE' AND table_schema = 'public'`);
  const counts = new Map<string, number>();
  for (const { name } of tables) {
    const { rows } = await pool.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${name}`);
    counts.set(name, rows[0]!.count);
  }
  return counts;
}
