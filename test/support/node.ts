import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLOSE_CODES } from '@parley/protocol/socket/close-codes.ts';
import WebSocket from 'ws';
import type { DemoFile } from '../../src/app/demo.ts';
import { freshDirectory, type Running, startParley, UNSAFE_POSTGRES } from '../start/parley.ts';
import { Contract } from './contract.ts';
import { DEFAULT_VERSION } from './default-version.ts';
import type { EarlierCheckout } from './earlier-checkout.ts';
import type { Teardown } from './teardown.ts';
import { until } from './until.ts';

export interface NodeOptions {
  readonly databaseUrl: string;
  readonly redisUrl?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** The data directory of an earlier node: its demo.json and keys are kept. */
  readonly dataDir?: string;
  /** Runs another command that composes a node. Default: `npm start`. */
  readonly command?: readonly [file: string, ...args: string[]];
  /**
   * Runs the code of an earlier commit. Its answers are not checked against the contract, which is
   * today's.
   */
  readonly earlier?: EarlierCheckout;
}

/** Every node of a test signs with this key, like the nodes of one deployment. */
export const AUDIT_KEY = Buffer.alloc(32, 'parley').toString('base64');

/** A whole Parley process over the given Postgres and Redis, with the demo account. */
export class TestNode {
  readonly baseUrl: string;
  readonly adminUrl: string;
  readonly demo: DemoFile;
  readonly dataDir: string;
  readonly running: Running;
  readonly #contract: Contract | undefined;

  constructor(running: Running, dataDir: string, demo: DemoFile, contract?: Contract) {
    this.#contract = contract;
    this.running = running;
    this.dataDir = dataDir;
    this.demo = demo;
    this.baseUrl = demo.base_url;
    // An earlier version has the metrics on the port of its API.
    this.adminUrl = demo.admin_url ?? demo.base_url;
  }

  /** Returns the same node for requests of another Service-Version. */
  at(version: string): TestNode {
    return new TestNode(
      this.running,
      this.dataDir,
      { ...this.demo, service_version: version },
      this.#contract,
    );
  }

  /** Returns the same node for requests through a proxy. */
  behind(url: string): TestNode {
    return new TestNode(this.running, this.dataDir, { ...this.demo, base_url: url }, this.#contract);
  }

  /** Resolves when the process has ended. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    this.running.child.kill(signal);
    await this.running.ended;
  }

  signal(signal: NodeJS.Signals): void {
    this.running.child.kill(signal);
  }

  headers(token = this.demo.api_key): Record<string, string> {
    return {
      Authorization: `Bearer ${token}`,
      'Service-Version': this.demo.service_version,
      'Service-Account': this.demo.account_id,
      'Content-Type': 'application/json',
    };
  }

  /**
   * Sends a request with the demo account's admin key, or `token`. Rejects if the answer does not
   * match the contract.
   */
  async call(
    method: string,
    path: string,
    body?: unknown,
    token?: string,
  ): Promise<{ status: number; body: Record<string, unknown>; headers: Headers }> {
    const response = await fetch(`${this.baseUrl}${path}`, {
      method,
      // On a kept-alive connection this busy process could learn too late that the server closed it
      // as idle.
      headers: { ...this.headers(token), Connection: 'close' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    });
    const { status, headers } = response;
    const text = await response.text();
    const { service_version: version } = this.demo;
    this.#contract?.check({ method, path, version, status, headers, text });
    return { status, body: JSON.parse(text), headers };
  }

  /** Sends a message; returns the answer unchanged. */
  send(conversationId: string, fields: Record<string, unknown> = {}, token?: string) {
    return this.call(
      'POST',
      `/v1/messaging/conversations/${conversationId}/messages`,
      { body: 'ahoy', client_message_id: randomUUID(), ...fields },
      token,
    );
  }

  /** Returns every message of a conversation over REST, oldest first. */
  async page(conversationId: string, token?: string): Promise<ListedMessage[]> {
    const messages: ListedMessage[] = [];
    let url: string | null =
      `/v1/messaging/conversations/${conversationId}/messages?after_sequence=0&limit=100`;
    while (url !== null) {
      const { body } = await this.call('GET', url, undefined, token);
      const page = body as unknown as {
        data: ListedMessage[];
        page_info: { next_page_url: string | null };
      };
      messages.push(...page.data);
      url = page.page_info.next_page_url;
    }
    return messages;
  }

  listen(conversationId: string, options: ListenOptions = {}): Promise<Listener> {
    return Listener.open(this, conversationId, options);
  }

  /** Like `listen`, but tries once: the listener is closed if it was refused. */
  tryListen(conversationId: string, options: ListenOptions = {}): Promise<Listener> {
    return Listener.try(this, conversationId, options);
  }

  /**
   * Returns the value on the line of /metrics that begins with `name`, labels included; 0 if there
   * is none.
   */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.adminUrl}/metrics`)).text();
    const line = text.split('\n').find((line) => line.startsWith(`${name} `));
    return Number(line?.split(' ').at(-1) ?? 0);
  }
}

export interface ListedMessage {
  readonly id: string;
  readonly sequence: number;
  readonly body: string | null;
}

export async function startNode(t: Teardown, options: NodeOptions): Promise<TestNode> {
  const dataDir = options.dataDir ?? freshDirectory(t);
  const { earlier, command = earlier?.command } = options;
  const env = {
    DATABASE_URL: options.databaseUrl,
    ...(options.redisUrl === undefined ? {} : { REDIS_URL: options.redisUrl }),
    PORT: '0',
    PARLEY_DEMO: 'on',
    PARLEY_DATA_DIR: dataDir,
    PARLEY_AUDIT_KEY: AUDIT_KEY,
    PARLEY_RATE_LIMIT: 'off',
    PARLEY_LOG_LEVEL: 'warn',
    ...(earlier === undefined && { PARLEY_ADMIN_PORT: '0' }),
    // On a busy machine the sockets of a test answer heartbeats late.
    PARLEY_SOCKET_PONG_MS: '60000',
    // Unknown to earlier commits, which refuse it.
    ...(earlier === undefined && UNSAFE_POSTGRES),
    ...options.env,
  };
  const running = startParley(t, env, {
    ...(command !== undefined && { command }),
    ...(earlier !== undefined && { cwd: earlier.root }),
  });
  await running.says(/Parley is ready/);
  const demo = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'));
  const contract = earlier === undefined ? await Contract.of(demo.base_url) : undefined;
  return new TestNode(running, dataDir, { ...demo, service_version: DEFAULT_VERSION }, contract);
}

export interface ListenOptions {
  /** Default: ada's. */
  readonly token?: string;
  readonly afterSequence?: number;
  /** Resumes from this cursor, after `afterSequence`, instead of subscribing. */
  readonly cursor?: string;
}

interface Frame {
  readonly type: string;
  readonly event?: string;
  readonly sequence?: number;
  readonly conversation_id?: string;
  readonly data?: Record<string, unknown>;
  readonly [field: string]: unknown;
}

/** A socket on one conversation that keeps every frame it gets. */
export class Listener {
  readonly frames: Frame[] = [];
  readonly socket: WebSocket;
  /** Set when the socket closes. */
  closeCode: number | undefined;
  /** The cursor of `ready`, of the last heartbeat, or of `resumed`. */
  cursor = '';
  heartbeats = 0;
  readonly #created: Frame[] = [];
  readonly #notifications: Frame[] = [];

  /**
   * Reconnects like a client if it is refused: a node whose link or database is in doubt, or which
   * lacks processor time to answer in time, accepts no sockets.
   */
  static async open(node: TestNode, conversationId: string, options: ListenOptions): Promise<Listener> {
    return until(
      async () => {
        const listener = await Listener.try(node, conversationId, options);
        return listener.closeCode === undefined ? listener : undefined;
      },
      { what: 'a subscription' },
    );
  }

  static async try(node: TestNode, conversationId: string, options: ListenOptions): Promise<Listener> {
    const { 'Content-Type': _, ...headers } = node.headers(options.token ?? node.demo.users.ada.access_token);
    const socket = new WebSocket(`${node.baseUrl.replace('http', 'ws')}/v1/realtime`, { headers });
    const listener = new Listener(socket);
    const has = (...types: string[]) => listener.frames.some(({ type }) => types.includes(type));
    const closed = () => listener.closeCode !== undefined;
    await until(() => has('ready') || closed(), { what: 'a ready socket' });
    if (closed()) return listener;
    const { afterSequence, cursor } = options;
    const request =
      cursor === undefined
        ? { type: 'subscribe', conversation_id: conversationId, after_sequence: afterSequence }
        : { type: 'resume', cursor, conversations: { [conversationId]: afterSequence ?? 0 } };
    socket.send(JSON.stringify({ id: 's', ...request }));
    const refused = () => listener.frames.some(({ type, ok }) => type === 'reply' && ok === false);
    const answers = cursor === undefined ? ['caught_up', 'resync'] : ['resumed'];
    await until(() => has(...answers) || refused() || closed(), {
      what: 'an answer to the subscription',
    });
    if (refused()) {
      socket.terminate();
      listener.closeCode = CLOSE_CODES.overloaded.code;
    }
    return listener;
  }

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data: Buffer) => {
      const frame: Frame = JSON.parse(data.toString());
      if (typeof frame.cursor === 'string') this.cursor = frame.cursor;
      if (frame.type === 'ping') {
        this.heartbeats += 1;
        socket.send(JSON.stringify({ type: 'pong', t: frame.t }));
      } else this.frames.push(frame);
      if (frame.event === 'message.created') this.#created.push(frame);
      if (frame.event === 'notification.created') this.#notifications.push(frame);
    });
    socket.on('close', (code) => {
      this.closeCode = code;
    });
    socket.on('error', () => undefined);
  }

  /** Returns the frames of `message.created`, in the order of arrival. */
  created(): readonly Frame[] {
    return this.#created;
  }

  sequences(): number[] {
    return this.created().map(({ sequence }) => sequence ?? 0);
  }

  notifications(): readonly Frame[] {
    return this.#notifications;
  }
}
