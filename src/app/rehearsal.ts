import { once } from 'node:events';
import { connect } from 'node:net';
import { newId } from '@parley/protocol/ids.ts';
import { CURRENT_VERSION } from '@parley/protocol/versions.ts';
import { createHttp } from '../api/pipeline/pipeline.ts';
import type { NodeParts } from '../core/features/feature.ts';
import { messageRoutes } from '../core/messages/routes.ts';
import { notificationRoutes } from '../core/notifications/routes.ts';
import type { Database } from '../platform/db/connection/database.ts';
import type { Querier } from '../platform/db/connection/handle.ts';
import { statement } from '../platform/db/connection/statement.ts';
import { DueWatch } from '../platform/db/queue/due-watch.ts';
import { MemoryEngine } from '../platform/engine/memory-engine.ts';
import { HttpServer } from '../platform/http/server.ts';
import { Disposer } from '../platform/lifecycle.ts';
import { createLog } from '../platform/log.ts';
import { openAccess } from './access.ts';
import type { Data, PartOptions } from './data.ts';
import { openMessaging } from './messaging.ts';
import { createNodeMetrics } from './metrics.ts';
import { OpenedFeatures } from './opened-features.ts';

/** Rounds on each writer; with fewer, the first requests still find code that V8 has to prepare. */
const ROUNDS = 2;

/** Milliseconds after which a start goes on without it. A rehearsal takes 100. */
const PATIENCE_MS = 2_000;

type Rehearsed = Data & Pick<NodeParts, 'urls' | 'guard'>;

/**
 * Has a second node of the same parts, without features, answer sends and pages over loopback. The
 * first requests of this node then find code that has run, and processes of Postgres that have
 * written (DECISIONS.md#what-a-node-does-before-it-listens). It leaves nothing behind: its
 * engine is in memory, and its statements run in transactions of the writers that are rolled back.
 * So it must end before anything else uses the writers. Never rejects: if it fails, the first
 * requests take longer.
 */
export async function rehearse(
  { config, log }: PartOptions,
  node: Rehearsed,
  patienceMs = PATIENCE_MS,
): Promise<void> {
  try {
    const disposer = new Disposer();
    const part = { config, log, metrics: createNodeMetrics({ ofProcess: false }), disposer };
    try {
      await perform(part, node, AbortSignal.timeout(patienceMs));
    } finally {
      await disposer.close();
    }
  } catch (err) {
    log.debug({ err }, 'the rehearsal failed, the first requests take longer');
  }
}

async function perform(part: PartOptions, node: Rehearsed, signal: AbortSignal): Promise<void> {
  const stage = new Stage(node.database);
  const { server, tokens } = await open(part, node, stage);
  const host = '127.0.0.1';
  const client = connect({ host, port: await server.listen({ host, port: 0 }) });
  part.disposer.add('client', client, (it) => void it.destroy());
  const credentials = [stage.author, stage.reader].map((actorId) =>
    tokens.issueAccess({ accountId: stage.account, actorId }),
  );
  const [author, reader] = (await Promise.all(credentials)).map(({ token }) => token);
  const ask = async (request: string, token: string | undefined, body = '') => {
    client.write(
      `${request} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n` +
        `Service-Version: ${CURRENT_VERSION}\r\nService-Account: ${stage.account}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const [answer] = await once(client, 'data', { signal });
    if (!/^HTTP\/1.1 20/.test(answer)) throw new Error(`a request was answered ${answer}`);
  };
  for (const writer of node.database.writers) {
    await stage.play(writer, async (conversation) => {
      const messages = `/v1/messaging/conversations/${conversation}/messages`;
      for (let round = 0; round < ROUNDS; round++) {
        const body = JSON.stringify({ body: 'Hello', client_message_id: newId('message') });
        await ask(`POST ${messages}`, author, body);
        await ask(`GET ${messages}?limit=20`, author);
        await ask('GET /v1/messaging/notifications?limit=20', reader);
      }
    });
  }
}

/** Opens the second node. */
async function open(
  { config, log, metrics, disposer }: PartOptions,
  node: Rehearsed,
  { account, database }: Stage,
) {
  const part: PartOptions = {
    config: {
      ...config,
      redisUrl: null,
      tokenSecret: account,
      rateLimit: { requests: 1e6, seconds: 60 },
    },
    log: createLog(config.logLevel, { write: () => undefined }),
    metrics,
    disposer,
  };
  const data: Data = {
    ...node,
    database,
    engine: new MemoryEngine(),
    watch: new DueWatch({ database, log }),
  };
  const access = await openAccess(part, data);
  const features = await OpenedFeatures.open([], { ...part, ...node, ...data, ...access });
  const messaging = await openMessaging(
    part,
    { maxBatch: undefined, features, guard: node.guard },
    data,
    access,
  );
  const { encoded } = messaging;
  const parts = { ...messaging, ...access, database, files: data.store, encoded: encoded.messages };
  const { authenticator, rateLimits, tokens } = access;
  const handler = createHttp({
    routes: [...messageRoutes(parts), ...notificationRoutes(database, encoded.notifications)].filter(
      ({ frequent }) => frequent,
    ),
    authenticator,
    limiter: rateLimits.credentials,
    addressLimiter: rateLimits.addresses,
    database,
    metrics,
    log: part.log,
    docsUrl: '',
    requestLogUrl: null,
  });
  const server = disposer.add('server', new HttpServer({ handler }), (it) => it.close());
  return { server, tokens };
}

/** A database whose statements all go over one writer, in a transaction that is rolled back. */
class Stage {
  readonly account = newId('account');
  readonly author = newId('actor');
  readonly reader = newId('actor');
  readonly database: Database;
  #writer: Querier;

  constructor(database: Database) {
    this.#writer = database.writers[0]!;
    const every: Querier = { query: (asked, ...values) => this.#writer.query(asked, ...values) };
    const kept = {
      query: every.query,
      pipeline: every,
      reader: every,
      checks: every,
      relaxed: every,
      readers: [every],
      writers: [every],
      bulk: undefined,
      kysely: undefined,
      transaction: undefined,
    };
    const properties = Object.entries(kept).map(([name, value]) => [name, { value }]);
    this.database = Object.create(database, Object.fromEntries(properties));
  }

  async play(writer: Querier, perform: (conversation: string) => Promise<void>): Promise<void> {
    this.#writer = writer;
    const { account, author, reader } = this;
    // The numbers of another conversation would have a hole here.
    const conversation = newId('conversation');
    try {
      // Sent together, so that a lost connection loses all statements.
      await Promise.all([
        writer.query(BEGIN),
        writer.query(LIMIT),
        writer.query(SHADOW),
        writer.query(CAST, account, author, reader, conversation),
      ]);
      await perform(conversation);
    } finally {
      await writer.query(ROLLBACK);
    }
  }
}

const BEGIN = statement('rehearsal-begin')`BEGIN`;
const ROLLBACK = statement('rehearsal-rollback')`ROLLBACK`;
/** A migration of a later version may hold a table. */
const LIMIT = statement('rehearsal-limit')`SET LOCAL lock_timeout = '100ms'`;

/**
 * The transaction's own tables, which hide those with triggers, foreign keys and sequences: a
 * number taken from a sequence stays taken after a rollback. The ids of the outbox are negative, so
 * that none equals a row's.
 */
const SHADOW = statement('rehearsal-tables')`DO $$
  DECLARE name text;
  BEGIN
    FOREACH name IN ARRAY '{accounts,roles,actors,conversations,participants,outbox}'::text[] LOOP
      EXECUTE format('CREATE TEMPORARY TABLE %1$I (LIKE %1$I INCLUDING DEFAULTS)', name);
    END LOOP;
    ALTER TABLE outbox ALTER id ADD GENERATED ALWAYS AS IDENTITY (INCREMENT -1);
  END $$`;

const CAST = statement<[account: string, author: string, reader: string, conversation: string]>(
  'rehearsal-cast',
)`
  WITH account AS (INSERT INTO accounts (id, name) VALUES ($1, '')),
    role AS (INSERT INTO roles (id, account_id, name, type) VALUES ($1, $1, '', 'admin')),
    actor AS (INSERT INTO actors (id, account_id, type, name, role_id) VALUES ($2, $1, 'user', 'A', $1), ($3, $1, 'user', 'B', $1)),
    conversation AS (INSERT INTO conversations (id, account_id, type) VALUES ($4, $1, 'group'))
  INSERT INTO participants (id, account_id, conversation_id, actor_id, type)
  VALUES ($2, $1, $4, $2, 'user'), ($3, $1, $4, $3, 'user')`;
