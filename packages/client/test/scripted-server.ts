import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Teardown } from '../../../test/support/teardown.ts';
import { until } from '../../../test/support/until.ts';
import { messageFrame, ScriptedRequest } from './scripted-request.ts';

/**
 * A gateway of the test for behaviour that is rare in a real one: each socket, stream and poll
 * answers as scripted.
 */
export class ScriptedServer {
  readonly sockets: ScriptedSocket[] = [];
  readonly requests: ScriptedRequest[] = [];
  /** The transports that were tried, one after the other. */
  readonly tried: string[] = [];
  /** Cuts every new socket. */
  refusing = false;
  /** What a proxy in between does to upgrades; ignored ones are never answered. */
  upgrades: 'passed' | 'refused' | 'ignored' = 'passed';
  readonly #server: Server;
  /** Called for each frame of a client besides `authenticate` and `pong`. */
  answer: (socket: ScriptedSocket, frame: ClientFrame) => void = (socket, frame) => socket.acknowledge(frame);
  /** Called for each `authenticate`. */
  welcome: (socket: ScriptedSocket, frame: ClientFrame) => void = (socket) => socket.ready();
  /** Called for each stream and poll. */
  respond: (request: ScriptedRequest) => void = (request) => request.acknowledge();
  /** Called for every other request, with its path and body; returns the answer. */
  rest: (path: string, body: object) => object = () => ({});

  static async start(t: Teardown): Promise<ScriptedServer> {
    const server = createServer();
    const connections = new Set<Socket>();
    server.on('connection', (connection) => {
      connections.add(connection);
      connection.on('error', () => {});
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const sockets = new WebSocketServer({ noServer: true });
    t.teardown(() => {
      for (const connection of connections) connection.destroy();
      server.close();
    });
    return new ScriptedServer(server, sockets);
  }

  private constructor(server: Server, sockets: WebSocketServer) {
    this.#server = server;
    server.on('upgrade', (request, connection, head) => {
      this.tried.push('websocket');
      if (this.upgrades === 'refused') connection.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
      if (this.upgrades === 'passed') {
        sockets.handleUpgrade(request, connection, head, (socket) => {
          if (this.refusing) socket.terminate();
          else this.sockets.push(new ScriptedSocket(socket, this));
        });
      }
    });
    server.on('request', (request, response) => void this.#request(request, response));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The socket that came as the `n`th, counted from 1, once its caller is known. */
  socket(n: number): Promise<ScriptedSocket> {
    return until(() => this.sockets.filter(({ known }) => known)[n - 1], { what: `socket ${n}` });
  }

  /** The stream or poll that came as the `n`th, counted from 1. */
  request(n: number): Promise<ScriptedRequest> {
    return until(() => this.requests[n - 1], { what: `request ${n}; tried ${this.tried}` });
  }

  async #request(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const part of request) body += part;
    if (!request.url?.startsWith('/v1/realtime/')) {
      response.end(JSON.stringify(this.rest(request.url ?? '', body === '' ? {} : JSON.parse(body))));
      return;
    }
    const name = `req_${this.requests.length + 1}`;
    const scripted = new ScriptedRequest(request, response, { body, name });
    this.tried.push(scripted.transport);
    this.requests.push(scripted);
    this.respond(scripted);
  }
}

export interface ClientFrame {
  readonly type: string;
  readonly id: string;
  readonly [field: string]: unknown;
}

export class ScriptedSocket {
  readonly frames: ClientFrame[] = [];
  known = false;
  closed = false;
  readonly #socket: WebSocket;
  readonly #id: string;

  constructor(socket: WebSocket, server: ScriptedServer) {
    this.#socket = socket;
    const connection_id = `con_${server.sockets.length + 1}`;
    this.#id = connection_id;
    socket.on('close', () => {
      this.closed = true;
    });
    socket.on('message', (data) => {
      const frame: ClientFrame = JSON.parse(data.toString());
      this.frames.push(frame);
      if (frame.type === 'authenticate') server.welcome(this, frame);
      else if (frame.type !== 'pong') server.answer(this, frame);
    });
    this.say({
      type: 'hello',
      connection_id,
      server_time: '',
      heartbeat_ms: 25_000,
      max_frame_bytes: 65_536,
    });
  }

  ready(): void {
    this.known = true;
    this.say({ type: 'ready', actor: {}, account_id: 'acc_1', cursor: this.#id, expires_at: null });
  }

  say(frame: object): void {
    this.sendText(JSON.stringify(frame));
  }

  sendText(text: string): void {
    this.#socket.send(text);
  }

  reply(to: ClientFrame, result: object): void {
    this.say({ type: 'reply', id: to.id, ok: true, result });
  }

  refuse(to: ClientFrame, code: string, isTransient = false, param: string | null = null): void {
    const error = { code, message: code, is_transient: isTransient, param };
    this.say({ type: 'reply', id: to.id, ok: false, error });
  }

  /** As a gateway where `missed`, by default nothing, is what was missed. */
  acknowledge(frame: ClientFrame, missed: () => void = () => {}): void {
    if (frame.type === 'subscribe') {
      const { conversation_id, after_sequence = 0 } = frame;
      this.reply(frame, { conversation_id, head_sequence: after_sequence });
      missed();
      this.caughtUp(conversation_id as string, after_sequence as number);
    } else if (frame.type === 'resume') {
      this.reply(frame, {});
      missed();
      for (const [id, position] of Object.entries(frame.conversations as Record<string, number>)) {
        this.caughtUp(id, position);
      }
      this.say({ type: 'resumed', cursor: `after ${frame.cursor}` });
    } else this.reply(frame, {});
  }

  caughtUp(conversationId: string, sequence: number): void {
    this.say({ type: 'caught_up', conversation_id: conversationId, sequence });
  }

  message(sequence: number, conversationId = 'cnv_1'): void {
    this.say(messageFrame(sequence, conversationId));
  }

  event(event: string, data: object): void {
    const at = '2026-11-21T06:00:00.000000Z';
    this.say({ type: 'event', event, conversation_id: 'cnv_1', at, data });
  }

  close(code: number, reason = ''): void {
    this.#socket.close(code, reason);
  }

  /** As a network that breaks. */
  cut(): void {
    this.#socket.terminate();
  }

  /** The frames of one type. */
  asked(type: string): ClientFrame[] {
    return this.frames.filter((frame) => frame.type === type);
  }

  ask(type: string): Promise<ClientFrame> {
    return until(() => this.asked(type)[0], { what: `a frame ${type}; got ${JSON.stringify(this.frames)}` });
  }
}
