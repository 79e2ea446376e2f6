import { join } from 'node:path';
import type { ErrorObject } from '@parley/protocol/errors/error-envelope.ts';
import { Tokens } from '../../src/api/access/tokens.ts';
import type { Route } from '../../src/api/pipeline/route.ts';
import { type AppOptions, startApp } from '../../src/app/app.ts';
import { readConfig } from '../../src/app/config.ts';
import { type DemoFile, demoFilePath, readDemoFile, seedDemo } from '../../src/app/demo.ts';
import { HOOKS } from '../../src/app/features.ts';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import type { Logger } from '../../src/platform/log.ts';
import { freshDirectory, UNSAFE_POSTGRES } from '../start/parley.ts';
import { Contract } from './contract.ts';
import { DEFAULT_VERSION } from './default-version.ts';
import { logWithoutMalformedStatements } from './malformed-statements.ts';
import { createTestDatabase } from './postgres.ts';
import type { Teardown } from './teardown.ts';

export interface CallOptions {
  /** Sent as JSON; fields that are undefined are left out. */
  readonly body?: unknown;
  /** Sent unchanged, in place of `body`. */
  readonly rawBody?: string | Uint8Array<ArrayBuffer>;
  /** Default: the demo account's admin key. */
  readonly token?: string;
  /** Override the default headers of a caller of the demo account; undefined omits a header. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

export interface CallAnswer<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Body;
}

/** The body of every refusal (docs/contract.md#errors). */
export interface Refusal {
  readonly error: ErrorObject;
}

/**
 * The whole server in this process, with the demo account, on a free port and with its own
 * database.
 */
export interface TestApp {
  readonly baseUrl: string;
  /** The URL of its Postgres, for commands of the operator. */
  readonly databaseUrl: string;
  /** The folder of its files. */
  readonly dataDir: string;
  readonly demo: DemoFile;
  readonly routes: readonly Route[];
  /** The test's own pool, to inspect what the API hides and to arrange what it cannot. */
  readonly database: Database;
  /** Throws if the answer does not match the OpenAPI document. */
  call<Body = Refusal>(method: string, path: string, options?: CallOptions): Promise<CallAnswer<Body>>;
  /** Returns an access token of any actor: agents and new users have no other credential here. */
  tokenOf(actorId: string, options?: { accountId?: string; issuedAtMs?: number }): Promise<string>;
}

export async function startTestApp(
  t: Teardown,
  env: Readonly<Record<string, string>> = {},
  log: Logger = logWithoutMalformedStatements(),
  options: Omit<AppOptions, 'config' | 'log'> = {},
): Promise<TestApp> {
  const url = env.DATABASE_URL ?? (await createTestDatabase(t)).url;
  const dataDir = env.PARLEY_DATA_DIR ?? freshDirectory(t);
  const config = readConfig({
    DATABASE_URL: url,
    PORT: '0',
    PARLEY_DEMO: 'on',
    PARLEY_DATA_DIR: dataDir,
    PARLEY_RATE_LIMIT: 'off',
    PARLEY_ADMIN_PORT: 'off',
    ...UNSAFE_POSTGRES,
    ...env,
  });
  // A third of the processor time of a start; test/start/ has it, as nodes that are processes do.
  const app = await withoutWelcome(() => startApp({ rehearses: false, ...options, config, log }));
  t.teardown(() => app.close());
  // As few connections as one of many processes: each costs the server some 8 ms of a core.
  const database = await openDatabase({ url, log, processes: 16, hooks: HOOKS });
  t.teardown(() => database.close());
  const { baseUrl, routes } = app;
  const demo = readDemoFile(demoFilePath(dataDir))!;
  return testApp({ baseUrl, databaseUrl: url, dataDir, routes, database }, demo);
}

/**
 * Returns a server like that of `startTestApp`, with a demo account of this file alone. The files
 * of a folder that run in one process (together.ts) share a server, which saves a second of
 * processor time each; a file that runs alone has its own. For files that neither count rows of the
 * whole database nor change what all accounts share.
 */
export async function borrowTestApp(t: Teardown): Promise<TestApp> {
  if (lender === undefined) return startTestApp(t);
  const app = await lender();
  const { database, baseUrl } = app;
  // Makes the next account like the first.
  await database.kysely.deleteFrom('settings').where('name', '=', 'demo').execute();
  const tokens = await Tokens.open({ database, now: Date.now });
  const demo = await seedDemo({ database, tokens, path: join(app.dataDir, 'no-demo.json') });
  return testApp(app, { base_url: baseUrl, ...demo });
}

/** Lends one server, which ends with `t`, to the files of this process from now on. */
export function lendTestApp(t: Teardown): void {
  let started: Promise<TestApp> | undefined;
  lender = () => {
    started ??= startTestApp(t);
    return started;
  };
}
let lender: (() => Promise<TestApp>) | undefined;

type Place = Pick<TestApp, 'baseUrl' | 'databaseUrl' | 'dataDir' | 'routes' | 'database'>;

async function testApp(place: Place, file: DemoFile): Promise<TestApp> {
  const { baseUrl, database } = place;
  const demo = { ...file, service_version: DEFAULT_VERSION };
  const contract = await Contract.of(baseUrl);
  return {
    baseUrl,
    databaseUrl: place.databaseUrl,
    dataDir: place.dataDir,
    routes: place.routes,
    demo,
    database,
    async call<Body = Refusal>(
      method: string,
      path: string,
      { body, rawBody, token = demo.api_key, headers = {} }: CallOptions = {},
    ) {
      const asSent = sent({
        Authorization: `Bearer ${token}`,
        'Service-Version': demo.service_version,
        'Service-Account': demo.account_id,
        'Content-Type': 'application/json',
        ...headers,
      });
      const response = await fetch(`${baseUrl}${path}`, {
        method,
        headers: asSent,
        ...(rawBody === undefined ? {} : { body: rawBody }),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(60_000),
      });
      const { status, headers: answered } = response;
      const text = await response.text();
      const version = asSent['Service-Version'];
      contract.check({ method, path, version, status, headers: answered, text, sent: body });
      const isJson = answered.get('Content-Type') === 'application/json';
      return { status, headers: answered, text, body: (isJson ? JSON.parse(text) : {}) as Body };
    },
    async tokenOf(actorId, { accountId = demo.account_id, issuedAtMs = Date.now() } = {}) {
      const tokens = await Tokens.open({ database, now: () => issuedAtMs });
      return (await tokens.issueAccess({ accountId, actorId })).token;
    },
  };
}

/**
 * Returns `400 missing_field body`: everything that a client branches on, on one line for tables of
 * refusals.
 */
export function refusalOf({ status, body }: CallAnswer<Refusal>): string {
  return `${status} ${body.error?.code} ${body.error?.param}`;
}

/** Returns calls at this version, and their refusals; the refusal of a success is its status. */
export function callsAt(app: TestApp, version: string) {
  const call = <Body = Refusal>(method: string, path: string, options: CallOptions = {}) =>
    app.call<Body>(method, path, { ...options, headers: { 'Service-Version': version, ...options.headers } });
  const refusal = async (method: string, path: string, options: CallOptions = {}): Promise<string> => {
    const answer = await call(method, path, options);
    return answer.status < 300 ? String(answer.status) : refusalOf(answer);
  };
  return { call, refusal };
}

function sent(headers: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const entries = Object.entries(headers).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return Object.fromEntries(entries);
}

/**
 * Removes only the welcome, for people at a terminal, from standard output, which is TAP here. All
 * other output passes.
 */
async function withoutWelcome<T>(start: () => Promise<T>): Promise<T> {
  const { stdout } = process;
  const write = stdout.write;
  stdout.write = new Proxy(write, {
    apply: (target, self, args: unknown[]) =>
      String(args[0]).startsWith('\nParley is ready at ') || Reflect.apply(target, self, args),
  });
  try {
    return await start();
  } finally {
    stdout.write = write;
  }
}
