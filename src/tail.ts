/**
 * `npm run -s tail -- <conversation>`: shows a conversation of the demo account as it goes on, one line a
 * message. Small on purpose: no cursor, no refresh, just a ticket, a subscription and the way back.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { type DemoFile, demoFilePath, readDemoFile } from './demo.ts';
import { CLOSE_CODES } from './protocol/close-codes.ts';
import type { EventFrame } from './protocol/events.ts';

export interface TailOptions {
  readonly conversationId: string;
  readonly dataDir: string;
  /** Gets whole lines without their end. */
  readonly print: (line: string) => void;
}

/**
 * Prints the last few messages and then each new one as `sequence sender: body`, until the process is
 * stopped. Connects again by itself, also to a gateway that was started anew. Rejects with an Error of one
 * line when there is nothing to come back to: no demo account, no such conversation.
 */
export async function tail({ conversationId, dataDir, print }: TailOptions): Promise<never> {
  const position: Position = { lastSequence: undefined };
  for (let failures = 0; ; failures++) {
    const demo = readDemoFile(demoFilePath(dataDir));
    if (demo === undefined) {
      throw new Error(
        `there is no ${demoFilePath(dataDir)}: start Parley with its demo account ("npm start")`,
      );
    }
    const watch = new Watch({ demo, conversationId, position, print });
    const end = await watch.ended().catch((error: Error) => error);
    if (end instanceof FatalError) throw end;
    if (watch.live) failures = 0;
    print(`-- ${end instanceof Error ? end.message : end}; connecting again`);
    // Full jitter: after a restart not everybody comes back at once.
    await delay(Math.random() * Math.min(250 * 2 ** failures, 5_000));
  }
}

/** Connecting again would end the same way. */
class FatalError extends Error {}

/** What survives a connection. */
interface Position {
  lastSequence: number | undefined;
}

interface WatchOptions {
  readonly demo: DemoFile;
  readonly conversationId: string;
  readonly position: Position;
  readonly print: (line: string) => void;
}

/** How many messages of before are shown. */
const BACKLOG = 10;
const TERMINAL = new Set<number>(
  Object.values(CLOSE_CODES).flatMap(({ code, next }) => (next === 'stop' ? [code] : [])),
);

/** What tail looks at in a frame of the server, whatever its type. */
interface ServerFrame {
  readonly type: string;
  readonly id?: string;
  readonly t?: unknown;
  readonly ok?: boolean;
  readonly result?: { readonly head_sequence?: number };
  readonly error?: { readonly code: string; readonly message: string; readonly is_transient: boolean };
  readonly head_sequence?: number;
  readonly reconnect_in_ms?: number;
}

interface TicketAnswer {
  readonly ticket?: string;
  readonly error?: { readonly message: string };
}

/** One connection. */
class Watch {
  readonly #options: WatchOptions;
  #socket: WebSocket | undefined;
  #nextId = 1;
  readonly #replies = new Map<string, (frame: ServerFrame) => void>();
  /** Messages are shown from here on; before, it only asks where the conversation stands. */
  #showing = false;
  /** Whether it got as far as being subscribed. */
  live = false;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** Connects, and resolves with how the connection ended. */
  async ended(): Promise<string> {
    const socket = new WebSocket(await this.#address());
    this.#socket = socket;
    return new Promise((resolve, reject) => {
      socket.addEventListener('message', ({ data }) => {
        this.#receive(JSON.parse(String(data))).catch((error) => {
          reject(error);
          socket.close();
        });
      });
      socket.addEventListener('close', ({ code, reason }) => {
        const end = `connection ended (${code}${reason ? ` ${reason}` : ''})`;
        if (TERMINAL.has(code)) reject(new FatalError(end));
        else resolve(end);
      });
    });
  }

  /** With a ticket in place of the key: addresses end up in logs. */
  async #address(): Promise<string> {
    const { demo } = this.#options;
    const response = await fetch(`${demo.base_url}/v1/realtime/tickets`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${demo.api_key}`,
        'service-version': demo.service_version,
        'service-account': demo.account_id,
        'content-type': 'application/json',
      },
      body: '{}',
    }).catch(() => {
      throw new Error(`nobody answers at ${demo.base_url}`);
    });
    const answer = (await response.json().catch(() => ({}))) as TicketAnswer;
    if (!answer.ticket) throw new Error(answer.error?.message ?? `no ticket: status ${response.status}`);
    const query = new URLSearchParams({
      ticket: answer.ticket,
      version: demo.service_version,
      account: demo.account_id,
    });
    return `${demo.base_url.replace(/^http/, 'ws')}/v1/realtime?${query}`;
  }

  async #receive(frame: ServerFrame): Promise<void> {
    switch (frame.type) {
      case 'ready':
        await this.#begin();
        return;
      case 'reply':
        this.#replies.get(frame.id ?? '')?.(frame);
        this.#replies.delete(frame.id ?? '');
        return;
      case 'ping':
        this.#send({ type: 'pong', t: frame.t });
        return;
      case 'event':
        this.#show(frame as ServerFrame & EventFrame);
        return;
      case 'resync':
        this.#options.print('-- too far behind, older messages are left out');
        await this.#subscribe(backlogBefore(frame.head_sequence));
        return;
      case 'goaway':
        // It waits for us: going at the time it gave us lets it stop early.
        setTimeout(() => this.#socket?.close(), frame.reconnect_in_ms ?? 0);
    }
  }

  async #begin(): Promise<void> {
    const { position } = this.#options;
    if (position.lastSequence === undefined) {
      position.lastSequence = backlogBefore(await this.#subscribe(undefined));
      await this.#request({ type: 'unsubscribe', conversation_id: this.#options.conversationId });
    }
    this.#showing = true;
    await this.#subscribe(position.lastSequence);
    this.live = true;
    this.#options.print(`-- listening to ${this.#options.conversationId}`);
  }

  /** Resolves with the conversation's head. */
  async #subscribe(afterSequence: number | undefined): Promise<number | undefined> {
    const { conversationId } = this.#options;
    const result = await this.#request({
      type: 'subscribe',
      conversation_id: conversationId,
      ...(afterSequence === undefined ? {} : { after_sequence: afterSequence }),
    });
    return result.head_sequence;
  }

  async #request(frame: { readonly type: string; readonly [field: string]: unknown }) {
    const id = String(this.#nextId++);
    const reply = await new Promise<ServerFrame>((resolve) => {
      this.#replies.set(id, resolve);
      this.#send({ ...frame, id });
    });
    if (reply.ok) return reply.result ?? {};
    const message = reply.error?.message ?? `${frame.type} was refused`;
    throw reply.error?.is_transient ? new Error(message) : new FatalError(message);
  }

  #send(frame: object): void {
    this.#socket?.send(JSON.stringify(frame));
  }

  #show({ event, sequence, data }: EventFrame): void {
    const { position, print } = this.#options;
    if (!this.#showing || event !== 'message.created' || sequence === undefined) return;
    if (sequence <= (position.lastSequence ?? 0)) return;
    position.lastSequence = sequence;
    const { sender, body } = data as { sender?: { name?: string | null } | null; body?: string | null };
    print(`${sequence} ${printable(sender?.name ?? 'system')}: ${printable(body ?? '')}`);
  }
}

function backlogBefore(head = 0): number {
  return Math.max(0, head - BACKLOG);
}

/** On one line, and without what a terminal would obey. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
}
