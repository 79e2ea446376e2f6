import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type DemoFile, demoFilePath, readDemoFile } from '../src/app/demo.ts';
import { AnswerReader } from './lib/answer-reader.ts';
import { getRequest, postRequest } from './lib/http-connections.ts';
import { type Block, compareBlocks } from './lib/pairs.ts';
import { comparisonRow } from './lib/row.ts';
import { ServerProcess } from './lib/server-process.ts';
import { spreadOf } from './lib/spread.ts';
import type { Findings, Session, Work } from './lib/work.ts';

/**
 * The first request over the hundredth: after a start, and after a minute of rest, for a send, a
 * page of messages and one of notifications.
 */
export const FIRST_REQUEST: Work = { name: 'first-request', title: 'the first request', fullOnly: true, run };

const SIZES = {
  full: { starts: 10, restMs: 60_000, kinds: ['send', 'messages', 'notifications'] },
  short: { starts: 3, restMs: 60_000, kinds: ['send', 'messages', 'notifications'] },
  brief: { starts: 1, restMs: 300, kinds: ['send'] },
} as const;
const MAX_RATIO = 2;
/** A hundredth alone would be one sample, so its neighbours join its median. */
const HUNDREDTH = { from: 90, to: 110 };
/** Requests that warm the client, which would otherwise be as cold as the server. */
const PRACTICE = 300;

type Request = (demo: DemoFile) => Buffer;

/** Each is the first request of servers of its own. */
const KINDS = { send, messages, notifications } satisfies Readonly<Record<string, Request>>;
type Kind = keyof typeof KINDS;

async function run(session: Session): Promise<void> {
  await practise();
  await session.part('first request', () => measure(session));
}

async function measure(session: Session): Promise<Findings> {
  const { starts, restMs, kinds } = SIZES[session.scale];
  const homes = kinds.map((kind) => new Home(session, kind));
  // Makes the databases, and sends the messages that the pages show.
  for (const home of homes) {
    await home.start();
    for (let n = 0; n < HUNDREDTH.to; n++) await home.request(send);
    await home.stop();
  }
  for (let n = 0; n < starts; n++) {
    for (const home of homes) await home.measureStart();
    await delay(restMs);
    for (const home of homes) {
      await home.measureRest();
      session.say(`  ${home.kind}: ${home.latest()}`);
      await home.stop();
    }
  }
  const comparisons = Object.assign({}, ...homes.map((home) => home.comparisons()));
  const rows = Object.entries<ReturnType<typeof compareBlocks>>(comparisons).map(([work, comparison]) =>
    comparisonRow(work, comparison, 'ms', { atMost: MAX_RATIO }),
  );
  return { rows, comparisons };
}

/** A data directory, and the server that runs on it as `npm start` runs it. */
class Home {
  readonly kind: Kind;
  readonly #dataDir: string;
  readonly #afterStart: Block[] = [];
  readonly #afterRest: Block[] = [];
  readonly #hundredth: Block[] = [];
  #running: { server: ServerProcess; demo: DemoFile; client: Client } | undefined;

  constructor({ disposer }: Session, kind: Kind) {
    this.kind = kind;
    this.#dataDir = mkdtempSync(join(tmpdir(), 'parley-first-'));
    disposer.add('data directory', this.#dataDir, (path) => rmSync(path, { recursive: true, force: true }));
    // Postgres needs access: for root, it runs as another user.
    chmodSync(this.#dataDir, 0o755);
    disposer.add(`server of ${kind}`, this, (it) => it.stop());
  }

  async start(): Promise<void> {
    const path = demoFilePath(this.#dataDir);
    rmSync(path, { force: true });
    const env = { PORT: '0', PARLEY_DATA_DIR: this.#dataDir };
    const server = new ServerProcess({ entry: 'bin/parley.cjs', args: ['start'], env });
    const demo = await server.until('demo.json', () => readDemoFile(path));
    const client = await Client.open(Number(new URL(demo.base_url).port));
    this.#running = { server, demo, client };
  }

  async stop(): Promise<void> {
    this.#running?.client.close();
    await this.#running?.server.stop();
    this.#running = undefined;
  }

  /** Resolves with the milliseconds that the answer took. */
  async request(request: Request): Promise<number> {
    const { client, demo } = this.#running!;
    return client.request(request(demo));
  }

  async measureStart(): Promise<void> {
    await this.start();
    const request = KINDS[this.kind];
    this.#afterStart.push({ figure: await this.request(request) });
    const later: number[] = [];
    for (let n = 2; n <= HUNDREDTH.to; n++) {
      const ms = await this.request(request);
      if (n >= HUNDREDTH.from) later.push(ms);
    }
    this.#hundredth.push({ figure: spreadOf(later).median });
  }

  async measureRest(): Promise<void> {
    this.#afterRest.push({ figure: await this.request(KINDS[this.kind]) });
  }

  latest(): string {
    const [first, rested, hundredth] = [this.#afterStart, this.#afterRest, this.#hundredth].map((blocks) =>
      blocks.at(-1)!.figure.toFixed(2),
    );
    return `first ${first} ms, after a rest ${rested} ms, hundredth ${hundredth} ms`;
  }

  comparisons() {
    const control = { name: 'the hundredth', blocks: this.#hundredth };
    const compare = (name: string, blocks: readonly Block[]) => compareBlocks({ name, blocks }, control);
    return {
      [`first request, ${this.kind}, after a start`]: compare('the first', this.#afterStart),
      [`first request, ${this.kind}, after a minute of rest`]: compare('after a rest', this.#afterRest),
    };
  }
}

/** One connection that is kept open, as a balancer's is. */
class Client {
  readonly #socket: Socket;
  readonly #reader = new AnswerReader();
  #answered: ((status: number) => void) | undefined;

  static async open(port: number): Promise<Client> {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new Client(socket);
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (bytes) => {
      const status = this.#reader.read(bytes, bytes.length);
      if (status !== undefined) this.#answered?.(status);
    });
    socket.on('error', () => this.#answered?.(0)).on('close', () => this.#answered?.(0));
  }

  /** Resolves with the milliseconds from the request's departure to the end of its answer. */
  async request(bytes: Buffer): Promise<number> {
    const startMs = performance.now();
    const { promise, resolve } = Promise.withResolvers<number>();
    this.#answered = resolve;
    this.#socket.write(bytes);
    const status = await promise;
    const ms = performance.now() - startMs;
    if (status < 200 || status > 299) throw new Error(`a request was answered ${status}`);
    return ms;
  }

  close(): void {
    this.#answered = undefined;
    this.#socket.destroy();
  }
}

let sent = 0;

function send(demo: DemoFile): Buffer {
  const clientId = `${process.pid} ${Date.now()} ${sent++}`;
  const body = JSON.stringify({ body: 'Hello', client_message_id: clientId });
  return postRequest(pathOf(demo), headersOf(demo, demo.api_key), body);
}

function messages(demo: DemoFile): Buffer {
  return getRequest(`${pathOf(demo)}?limit=20`, headersOf(demo, demo.api_key));
}

/** Returns a request for the feed of a user who is notified of the sends. */
function notifications(demo: DemoFile): Buffer {
  return getRequest('/v1/messaging/notifications?limit=20', headersOf(demo, demo.users.ada.access_token));
}

function pathOf({ conversations }: DemoFile): string {
  return `/v1/messaging/conversations/${conversations.group}/messages`;
}

function headersOf({ account_id, service_version }: DemoFile, credential: string) {
  return {
    Authorization: `Bearer ${credential}`,
    'Service-Version': service_version,
    'Service-Account': account_id,
  };
}

/** Sends requests to a server that only answers. */
async function practise(): Promise<void> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'Content-Length': 2 }).end('ok');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = await Client.open((server.address() as AddressInfo).port);
  for (let n = 0; n < PRACTICE; n++) await client.request(getRequest('/', {}));
  client.close();
  server.close();
}
