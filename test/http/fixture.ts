import { ApiError } from '@parley/protocol/errors/errors.ts';
import { Body, OneOf } from '@parley/protocol/schema/schema.ts';
import { Type } from 'typebox';
import type { Principal } from '../../src/api/access/principal.ts';
import { defineList, PageQuery, readPage, toList } from '../../src/api/pipeline/pagination.ts';
import { createHttp, type HttpOptions } from '../../src/api/pipeline/pipeline.ts';
import { Answer, defineRoute, type Route } from '../../src/api/pipeline/route.ts';
import { createNodeMetrics, type NodeMetrics } from '../../src/app/metrics.ts';
import { DatabaseUnavailableError } from '../../src/platform/db/connection/unavailable.ts';
import { EngineUnavailableError } from '../../src/platform/engine/engine.ts';
import type { ExchangeLimits } from '../../src/platform/http/connection.ts';
import type { HeldLimits } from '../../src/platform/http/held-answers.ts';
import { HttpServer } from '../../src/platform/http/server.ts';
import { createLog } from '../../src/platform/log.ts';
import type { Teardown } from '../support/teardown.ts';

/** The whole HTTP part over a handful of routes, on a free port. */
export interface Fixture {
  readonly port: number;
  readonly url: string;
  readonly server: HttpServer;
  readonly metrics: NodeMetrics;
  /** A line for each time a handler ran: method, path, and what it was given. */
  readonly handled: string[];
  /** Lets the handlers of /v1/waits answer. */
  open(): void;
}

export interface FixtureOptions extends Partial<HttpOptions> {
  readonly limits?: Partial<ExchangeLimits>;
  readonly heldLimits?: HeldLimits;
}

export async function serve(
  t: Teardown,
  { limits = {}, heldLimits, ...options }: FixtureOptions = {},
): Promise<Fixture> {
  const handled: string[] = [];
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const metrics = createNodeMetrics();
  const http = createHttp({
    routes: routes(handled, opened),
    publicRoutes: {
      '/healthz': () => ({ status: 200, body: '{"status":"up"}' }),
      '/docs/*': async ({ path }) => ({ status: 200, body: path, contentType: 'text/plain' }),
    },
    authenticator: { authenticate },
    database: { transaction: () => Promise.reject(new Error('no route of the fixture has a transaction')) },
    metrics,
    log: createLog('silent'),
    docsUrl: 'https://docs.example',
    requestLogUrl: null,
    ...options,
  });
  // Some hostile heads are never answered: their connections end with the limit for idle ones.
  const server = new HttpServer({
    handler: http,
    metrics,
    limits: { idleMs: 10_000, ...limits },
    ...(heldLimits && { heldLimits }),
  });
  const port = await server.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => server.close());
  return { port, url: `http://127.0.0.1:${port}`, server, metrics, handled, open };
}

/** The headers of a correct caller. */
export const HEADERS = {
  Authorization: 'Bearer known',
  'Content-Type': 'application/json',
  'Service-Version': '1.1.harbor',
  'Service-Account': 'acc_1',
} as const;

/** As HTTP/1.1 writes them. */
export const HEADER_LINES = Object.entries(HEADERS)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('');

/** A principal of the account acc_1; a test overrides the fields that it is about. */
export function principal(changes: Partial<Principal> = {}): Principal {
  return {
    accountId: 'acc_1',
    subscribed: true,
    actor: {
      id: 'act_1',
      object: 'actor',
      type: 'user',
      name: 'Ada',
      handle: null,
      avatar_url: null,
      role: null,
    },
    customer: false,
    admin: false,
    seesOwnIds: false,
    seesHandles: true,
    people: 'everyone',
    operator: false,
    roleId: 'rol_1',
    permissions: new Set(['messaging:create', 'messaging:read']),
    credential: { kind: 'api_key', id: 'key_1', expiresAtMs: null },
    ...changes,
  };
}

/** The bytes of the answer of /v1/big. */
const BIG_THING = { text: 'x'.repeat(8 * 1024 * 1024) };
export const BIG = JSON.stringify(BIG_THING);

/** The text of each of the hundred rows of /v1/rows: 60 kB of JSON for 20,000 bytes. */
const ROW_TEXT = '\u0001'.repeat(10_000);
const ROWS = defineList('rows', ['integer']);

const CALLERS: Readonly<Record<string, Principal>> = {
  known: principal(),
  looked_up: principal(),
  other: principal({ credential: { kind: 'api_key', id: 'key_2', expiresAtMs: null } }),
  unpaid: principal({ subscribed: false }),
  reader: principal({ permissions: new Set(['messaging:read']) }),
  admin: principal({ admin: true, permissions: new Set() }),
  customer: principal({ customer: true, permissions: new Set(), roleId: null }),
};

/** Known at once, but for `looked_up`. */
function authenticate(authorization: string | undefined): Principal | Promise<Principal> {
  const token = authorization?.replace('Bearer ', '') ?? '';
  if (token === 'expired') throw new ApiError('expired_token', 'Expired.');
  const caller = Object.hasOwn(CALLERS, token) ? CALLERS[token] : undefined;
  if (caller === undefined) throw new ApiError('invalid_credentials', 'Who is that?');
  return token === 'looked_up' ? new Promise((resolve) => setImmediate(resolve, caller)) : caller;
}

const NOTHING = 'A fixture changes nothing.';

function routes(handled: string[], opened: Promise<void>): Route[] {
  const response = Type.Unknown();
  const common = {
    name: 'fixture',
    summary: 'A fixture',
    since: '1.0.harbor',
    response,
  } as const;
  const get = { ...common, method: 'GET', permission: 'messaging:read' } as const;
  const post = { ...common, method: 'POST', permission: 'messaging:create' } as const;
  const failing = (path: string, thrown: Error) =>
    defineRoute({
      ...post,
      path,
      commits: NOTHING,
      handle: () => {
        throw thrown;
      },
    });
  return [
    defineRoute({
      ...post,
      path: '/v1/things/:id/notes',
      status: 201,
      query: Body({ 'include[]': Type.Optional(Type.Array(OneOf(['sender', 'author']))) }),
      body: Body({ text: Type.String({ maxLength: 300_000 }), at: Type.Optional(Type.String()) }),
      commits: NOTHING,
      handle({ params, query, body, url, version, answer }) {
        handled.push(`POST ${params.id}`);
        return answer({ params, query, body, url, version, count: handled.length }, undefined);
      },
    }),
    defineRoute({
      ...get,
      path: '/v1/things/:id',
      customers: true,
      handle({ params }) {
        handled.push(`GET ${params.id}`);
        return { id: params.id };
      },
    }),
    defineRoute({
      ...common,
      commits: NOTHING,
      method: 'DELETE',
      permission: null,
      path: '/v1/things/:id',
      async handle({ params, answer }) {
        handled.push(`DELETE ${params.id}`);
        return answer(new Answer(202, { id: params.id }), undefined);
      },
    }),
    defineRoute({ ...get, path: '/v1/things/special', handle: () => ({ special: true }) }),
    defineRoute({ ...get, path: '/v1/newer', since: '1.2.harbor', handle: () => ({}) }),
    defineRoute({
      ...get,
      path: '/v1/rows',
      query: PageQuery({}),
      handle({ query, url }) {
        const page = readPage(ROWS, query, {});
        const { direction, after, fetch } = page;
        const numbers = Array.from({ length: 100 }, (_, i) => (direction === 'next' ? i : 99 - i));
        const start = after === null ? 0 : numbers.indexOf(Number(after[0])) + 1;
        const rows = numbers.slice(start, start + fetch);
        return toList(
          rows,
          page,
          url,
          (n) => [n],
          (n) => ({ n, text: ROW_TEXT }),
        );
      },
    }),
    defineRoute({ ...get, path: '/v1/big', handle: () => BIG_THING }),
    defineRoute({
      ...post,
      path: '/v1/waits',
      commits: NOTHING,
      async handle({ answer }) {
        handled.push('POST waits');
        await opened;
        return answer({ waited: true }, undefined);
      },
    }),
    failing('/v1/broken', new Error('the secret reason')),
    failing('/v1/database', new DatabaseUnavailableError('Postgres is unavailable')),
    failing('/v1/engine', new EngineUnavailableError()),
    failing('/v1/gone', new ApiError('resource_gone', 'Gone.', { param: 'id' })),
    failing('/v1/refused', new ApiError('validation_failed', 'No.', { param: 'x' })),
  ];
}
