import { setTimeout as pause } from 'node:timers/promises';
import { type Client, connect, type Transport } from '@parley/client';
import { WebSocket } from 'ws';
import type { Received } from './check-delivery.ts';
import { Shown } from './shown.ts';

export interface SdkReaderOptions {
  /** Called at every connection and request. */
  readonly url: () => string;
  readonly account: string;
  readonly token: string;
  readonly conversationIds: readonly string[];
  /** All by default. */
  readonly transports?: readonly Transport[];
}

/**
 * One client of the SDK that follows conversations from their first message on, as
 * `socket-client.ts` does without the SDK: a message that the SDK passes on twice is twice in its
 * history.
 */
export class SdkReader {
  readonly client: Client;
  /** Messages by conversation, in the order in which they were passed on. */
  readonly history: ReadonlyMap<string, Received[]>;
  /** The state that results from what was passed on. */
  readonly shown = new Shown();
  /** Things that no reader should meet here. */
  readonly problems: string[] = [];
  /** Connections by transport. */
  readonly connected: Partial<Record<Transport, number>> = {};
  #hasCursor = false;
  /** Aborted when the network breaks. */
  #network = new AbortController();
  #backAt = 0;

  constructor({ url, account, token, conversationIds, transports }: SdkReaderOptions) {
    this.history = new Map(conversationIds.map((id) => [id, []]));
    const network = () => this.#network.signal;
    this.client = connect({
      account,
      token,
      mostWaitMs: 500,
      ...(transports && { transports }),
      url: async () => {
        await pause(Math.max(0, this.#backAt - performance.now()));
        return url();
      },
      fetch: (input, init) =>
        fetch(input, {
          ...init,
          signal: AbortSignal.any([network(), ...(init?.signal ? [init.signal] : [])]),
        }),
      // The WebSocket of `ws` can be cut.
      WebSocket: class extends WebSocket {
        constructor(address: string) {
          super(address);
          network().addEventListener('abort', () => this.terminate(), { once: true });
        }
      },
    });
    this.#watch();
    for (const [id, history] of this.history) this.#follow(id, history);
  }

  /** Number of connections so far. */
  get connections(): number {
    return Object.values(this.connected).reduce((sum, count) => sum + count, 0);
  }

  /** Returns the last number of a conversation, or 0. */
  last(conversationId: string): number {
    return this.history.get(conversationId)?.at(-1)?.sequence ?? 0;
  }

  /** Whether it was live once, so that it must receive every change from then on. */
  get hasCursor(): boolean {
    return this.#hasCursor;
  }

  /** Cuts its connections. The client reconnects after `awayMs` at the earliest. */
  reset(awayMs = 0): void {
    this.#backAt = performance.now() + awayMs;
    this.#network.abort();
    this.#network = new AbortController();
  }

  stop(): void {
    this.client.close();
  }

  #watch(): void {
    const { client } = this;
    let before: string | null = null;
    client.on('state', (state) => {
      const { transport } = client;
      // A client that moves to another connection is live all the time.
      if (transport !== null && transport !== before) {
        this.connected[transport] = (this.connected[transport] ?? 0) + 1;
      }
      before = transport;
      if (state === 'live') this.#hasCursor = true;
    });
    client.on('stale', () => this.problems.push('its feed is stale'));
    client.on('end', (end) => this.problems.push(`it has ended: ${JSON.stringify(end)}`));
    const notified = (data: object) => this.shown.receive({ event: 'notification', data: { ...data } });
    client.on('notification.created', notified);
    client.on('notification.updated', notified);
  }

  #follow(id: string, history: Received[]): void {
    const show = (event: string, data: object) => this.shown.receive({ event, data: { ...data } });
    this.client.subscribe(id, {
      afterSequence: 0,
      onMessage: (message) => {
        history.push({ sequence: message.sequence ?? 0, id: message.id });
        show('message.created', message);
      },
      onUpdate: (message) => show('message.updated', message),
      onEvent: ({ event, data }) => show(event, data),
      onStale: () => this.problems.push(`${id} is stale`),
      onEnd: (why) => this.problems.push(`${id} has ended: ${JSON.stringify(why)}`),
    });
  }
}
