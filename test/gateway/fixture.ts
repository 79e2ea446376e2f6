import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ErrorObject } from '@parley/protocol/errors/error-envelope.ts';
import { newId } from '@parley/protocol/ids.ts';
import { SOCKET_LIMITS, type SocketLimits } from '@parley/protocol/socket/socket-limits.ts';
import { STREAMS_SINCE } from '@parley/protocol/versions.ts';
import { WebSocket } from 'ws';
import { Whereabouts } from '../../src/api/access/account-moves.ts';
import { Authenticator } from '../../src/api/access/authenticate.ts';
import { createPollLimits, createRateLimits } from '../../src/api/access/rate-limit.ts';
import { Rights } from '../../src/api/access/rights.ts';
import { Tokens } from '../../src/api/access/tokens.ts';
import { createHttp } from '../../src/api/pipeline/pipeline.ts';
import type { Route } from '../../src/api/pipeline/route.ts';
import { type Demo, seedDemo } from '../../src/app/demo.ts';
import { HOOKS } from '../../src/app/features.ts';
import { createNodeMetrics, type NodeMetrics } from '../../src/app/metrics.ts';
import { ConversationDirectory } from '../../src/core/conversations/directory/directory.ts';
import type { Engine } from '../../src/core/frames/engine.ts';
import type { Frame } from '../../src/core/frames/frame.ts';
import { FRAME_CODEC as codec } from '../../src/core/frames/frame-codec.ts';
import { type DomainEvent, type EphemeralEvent, publish } from '../../src/core/frames/publish.ts';
import { Timeline } from '../../src/core/messages/timeline/timeline.ts';
import { externalIds } from '../../src/core/resources/external-ids.ts';
import { Cursors } from '../../src/edge/gateway/changes/cursors.ts';
import { Gateway } from '../../src/edge/gateway/gateway.ts';
import { realtimeRoutes } from '../../src/edge/gateway/routes.ts';
import { Tickets } from '../../src/edge/gateway/socket/tickets.ts';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import { RedisEngine } from '../../src/platform/engine/redis/redis-engine.ts';
import { AllowedOrigins } from '../../src/platform/http/origins.ts';
import { HttpServer } from '../../src/platform/http/server.ts';
import type { Logger } from '../../src/platform/log.ts';
import { type AnsweringNode, type PollResult, poll, StreamClient } from '../support/answer-clients.ts';
import { DEFAULT_VERSION } from '../support/default-version.ts';
import { NO_FILES } from '../support/files.ts';
import { createTestDatabase } from '../support/postgres.ts';
import type { Teardown } from '../support/teardown.ts';
import { log } from '../support/timeline.ts';
import { PATIENCE_MS, until } from '../support/until.ts';

export interface GroundOptions {
  readonly limits?: Partial<SocketLimits>;
  readonly allowedOrigins?: readonly string[];
  /** Another node of the same database, and of the same engine unless `redisUrl` is given. */
  readonly beside?: Ground;
  /** An engine over Redis; in memory without. */
  readonly redisUrl?: string;
  /** In place of the node's own, of which there is a new one each second at most. */
  readonly cursor?: () => string;
  /** The logger of the gateway. */
  readonly log?: Logger;
}

/** The gateway with everything under it but the REST pipeline, over the demo account's rows. */
export class Ground {
  readonly port: number;
  readonly demo: Demo;
  readonly databaseUrl: string;
  readonly database: Database;
  readonly tokens: Tokens;
  readonly rights: Rights;
  readonly authenticator: Authenticator;
  readonly engine: Engine;
  readonly gateway: Gateway;
  readonly tickets: Tickets;
  readonly metrics: NodeMetrics;
  /** The endpoints of the gateway. */
  readonly routes: readonly Route[];

  static async start(t: Teardown, options: GroundOptions = {}): Promise<Ground> {
    const { beside } = options;
    const databaseUrl = beside?.databaseUrl ?? (await createTestDatabase(t)).url;
    const database = await openDatabase({ url: databaseUrl, log, hooks: HOOKS });
    t.teardown(() => database.close());
    const engine = await openEngine(t, options);
    const metrics = createNodeMetrics();
    const rights = await Rights.open(engine);
    t.teardown(() => rights.close());
    const tokens = await Tokens.open({ database });
    const whereabouts = new Whereabouts({ database, homeCell: null });
    const authenticator = new Authenticator({ database, tokens, rights, whereabouts });
    const directory = new ConversationDirectory(database, rights);
    const timeline = new Timeline(database, engine, metrics);
    const cursors = await Cursors.start(database, engine, log);
    t.teardown(() => cursors.close());
    // On a busy machine the sockets of a test answer heartbeats late, and some never do.
    const limits = { ...SOCKET_LIMITS, pongMs: PATIENCE_MS, ...options.limits };
    const origins = new AllowedOrigins(options.allowedOrigins ?? []);
    const tickets = new Tickets(database);
    const routes = realtimeRoutes({ tickets, directory, engine, answers: () => gateway.answers });
    const api = createHttp({
      routes,
      authenticator,
      externalIds: externalIds(database),
      whereabouts,
      database,
      metrics,
      origins,
      pollLimiters: createPollLimits(limits.pollsPerSecond),
      log,
      docsUrl: 'https://docs.example',
      requestLogUrl: null,
    });
    const http = new HttpServer({ handler: api });
    const gateway: Gateway = new Gateway({
      files: NO_FILES,
      database,
      engine,
      rights,
      authenticator,
      whereabouts,
      rateLimits: createRateLimits(null),
      directory,
      timeline,
      tickets,
      cursors: {
        current: options.cursor ?? (() => cursors.current()),
        beforeFeed: async () => options.cursor?.() ?? cursors.beforeFeed(),
        latest: (own, others) => cursors.latest(own, others),
        read: (text) => cursors.read(text),
      },
      http,
      refuse: (exchange, thrown) => api.refuse(exchange, thrown),
      failures: api.failures,
      origins,
      limits,
      metrics,
      log: options.log ?? log,
    });
    t.teardown(() => gateway.close());
    const port = await http.listen({ host: '127.0.0.1', port: 0 });
    t.teardown(() => http.close());
    const demo = beside?.demo ?? {
      ...(await seedDemo({ database, tokens, path: '/nonexistent/demo.json' })),
      service_version: DEFAULT_VERSION,
    };
    const parts = { port, demo, databaseUrl, database, tokens, rights, authenticator };
    return new Ground({ ...parts, engine, gateway, tickets, metrics, routes });
  }

  private constructor(parts: Parts) {
    this.port = parts.port;
    this.demo = parts.demo;
    this.databaseUrl = parts.databaseUrl;
    this.database = parts.database;
    this.tokens = parts.tokens;
    this.rights = parts.rights;
    this.authenticator = parts.authenticator;
    this.engine = parts.engine;
    this.gateway = parts.gateway;
    this.tickets = parts.tickets;
    this.metrics = parts.metrics;
    this.routes = parts.routes;
  }

  url(query: Readonly<Record<string, string>> = {}): string {
    const text = new URLSearchParams(query).toString();
    return `ws://127.0.0.1:${this.port}/v1/realtime${text === '' ? '' : `?${text}`}`;
  }

  /** Headers for the demo account; ada's unless another credential is given. */
  headers(credential = this.demo.users.ada.access_token): Record<string, string> {
    return {
      Authorization: `Bearer ${credential}`,
      'Service-Version': this.demo.service_version,
      'Service-Account': this.demo.account_id,
    };
  }

  /** The address of the endpoints, and headers of the first version that has streams. */
  answering(credential?: string): AnsweringNode {
    const baseUrl = `http://127.0.0.1:${this.port}`;
    return { baseUrl, headers: { ...this.headers(credential), 'Service-Version': STREAMS_SINCE } };
  }

  /** A stream whose caller is known. */
  async stream(body: object = {}, credential?: string): Promise<StreamClient> {
    const client = new StreamClient(this.answering(credential), body);
    await client.frame('ready');
    return client;
  }

  poll(body: object = {}, credential?: string): Promise<PollResult> {
    return poll(this.answering(credential), body);
  }

  /** A socket that has been greeted. */
  async open(headers: Record<string, string> = {}, query: Record<string, string> = {}): Promise<Client> {
    const client = new Client(new WebSocket(this.url(query), { headers }));
    await client.frame('hello');
    return client;
  }

  /** A socket whose caller is known. */
  async ready(credential?: string): Promise<Client> {
    const client = await this.open(this.headers(credential));
    await client.frame('ready');
    return client;
  }

  /** Rows as sends leave them, without the write path. */
  async storeMessages(conversationId: string, count: number, body = 'ahoy'): Promise<void> {
    const { account_id: accountId, users } = this.demo;
    await this.database.query(
      {
        name: 'test-store-messages',
        text: `
          INSERT INTO messages
            (id, account_id, conversation_id, sequence, kind, status, visibility, body, author_id, sender_id,
              created_at, updated_at)
          SELECT 'msg_' || $2::text || n, $1, $2, n, 'chat', 'sent', 'internal', $5, $3, $3, now(), now()
          FROM generate_series(1, $4::int) n`,
      },
      accountId,
      conversationId,
      users.ada.id,
      count,
      body,
    );
  }

  /** Adds or removes a participant of a conversation, and announces it to every node. */
  async setMember(conversationId: string, actorId: string, member: boolean): Promise<void> {
    await this.database.kysely
      .updateTable('participants')
      .set({ membership: member ? 'active' : 'removed' })
      .where('conversation_id', '=', conversationId)
      .where('actor_id', '=', actorId)
      .execute();
    await this.rights.announce(conversationId);
  }

  /** An event as REST would have published it, that no replay knows of. */
  publish(stream: string, event: Partial<PublishedEvent> & Pick<PublishedEvent, 'event'>): Promise<void> {
    const published = {
      stream,
      conversationId: stream.startsWith('cnv_') ? stream : null,
      sequence: 0,
      resource: newId('notification'),
      at: new Date().toISOString(),
      team: {},
      customer: undefined,
      ...event,
    };
    return publish(this.engine, published as PublishedEvent);
  }

  /**
   * Publishes numbered events, a few in each turn of the loop, until so many bytes are out.
   * Resolves with their number.
   */
  async flood(
    conversationId: string,
    bytes: number,
    sizeOf: (n: number) => number,
    eachTurn: () => void = () => undefined,
  ): Promise<number> {
    let published = 0;
    let number = 0;
    while (published < bytes) {
      for (let i = 0; i < 8; i++) {
        number += 1;
        const text = 'x'.repeat(sizeOf(number));
        await this.publish(conversationId, { event: 'draft.created', team: { number, text } });
        published += text.length;
      }
      eachTurn();
      await nextTurn();
    }
    return number;
  }

  /** Returns the number of open sockets, streams and polls. */
  async openSessions(): Promise<number | undefined> {
    return (await this.metrics.socketsOpen.get()).values[0]?.value;
  }
}

type PublishedEvent = DomainEvent | EphemeralEvent;

async function openEngine(t: Teardown, { beside, redisUrl }: GroundOptions): Promise<Engine> {
  if (beside !== undefined && redisUrl === undefined) return beside.engine;
  const engine =
    redisUrl === undefined
      ? new MemoryEngine<Frame>()
      : await RedisEngine.connect({ codec, url: redisUrl, log });
  t.teardown(() => engine.close());
  return engine;
}

type Parts = {
  [name in keyof Ground as Ground[name] extends (...args: never[]) => unknown ? never : name]: Ground[name];
};

export interface ReceivedFrame {
  readonly type: string;
  readonly id?: string | null;
  readonly ok?: boolean;
  readonly error?: ErrorObject;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly event?: string;
  readonly sequence?: number;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** A socket that keeps every frame it gets. */
export class Client {
  readonly socket: WebSocket;
  readonly frames: ReceivedFrame[] = [];
  /** False: it lets heartbeats go by, and is closed for it. */
  answersHeartbeats = true;
  closed: { readonly code: number; readonly reason: string } | undefined;
  /** The answer to a handshake that was refused. */
  refused: { readonly status: number; readonly error: ErrorObject } | undefined;
  #requests = 0;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data) => {
      const frame: ReceivedFrame = JSON.parse(data.toString());
      this.frames.push(frame);
      if (frame.type === 'ping' && this.answersHeartbeats) this.send({ type: 'pong', t: frame.t });
    });
    socket.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() };
    });
    socket.on('error', () => undefined);
    socket.on('unexpected-response', (_, response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () => {
        this.refused = { status: response.statusCode ?? 0, error: JSON.parse(body).error };
      });
    });
  }

  /** The first frame of a type (or that fits), now or later. */
  frame(which: string | ((frame: ReceivedFrame) => boolean)): Promise<ReceivedFrame> {
    const fits = typeof which === 'string' ? ({ type }: ReceivedFrame) => type === which : which;
    return until(() => this.frames.find(fits), {
      what: `a frame ${which}; got ${JSON.stringify(this.frames)} ${JSON.stringify(this.closed ?? this.refused)}`,
    });
  }

  send(frame: object | string): void {
    this.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  /** Sends a request and resolves with what carries its id. */
  request(type: string, fields: object = {}): Promise<ReceivedFrame> {
    const id = `r${++this.#requests}`;
    this.send({ type, id, ...fields });
    return this.frame((frame) => frame.id === id);
  }

  close(): void {
    this.socket.close();
  }

  async closes(): Promise<{ readonly code: number; readonly reason: string }> {
    return until(() => this.closed, { what: 'the end of the socket' });
  }
}

/** How the server refuses a handshake. */
export async function refusal(
  ground: Ground,
  headers: Record<string, string>,
  query: Record<string, string> = {},
): Promise<{ readonly status: number; readonly error: ErrorObject }> {
  const client = new Client(new WebSocket(ground.url(query), { headers }));
  return until(() => client.refused, { what: 'a refusal' });
}

export async function roleOf(database: Database, actorId: string): Promise<string> {
  const actor = await database.kysely
    .selectFrom('actors')
    .select('role_id')
    .where('id', '=', actorId)
    .executeTakeFirstOrThrow();
  return actor.role_id!;
}
