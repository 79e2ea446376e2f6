import type { ChatMessage, SendMessageBody } from '../protocol/chat-message.ts';
import type { ErrorObject } from '../protocol/errors.ts';
import type { List } from '../protocol/lists.ts';
import { Backoff } from './backoff.ts';
import type { Credential } from './credential.ts';
import { sleep, type Timing } from './timing.ts';

export interface RestOptions {
  /** http: or https:, without a path. */
  readonly origin: () => string | Promise<string>;
  readonly account: string;
  readonly version: string;
  readonly credential: Credential;
  readonly fetch: typeof fetch;
  readonly timing: Timing;
}

/** REST refused; `error` is null where the answer was none of Parley's. */
export class RestRefused extends Error {
  readonly status: number;
  readonly error: ErrorObject | null;

  constructor(status: number, error: ErrorObject | null) {
    super(error?.message ?? `answered with status ${status}`);
    this.name = 'RestRefused';
    this.status = status;
    this.error = error;
  }
}

/** The few requests that a socket needs beside it. */
export class Rest {
  readonly #options: RestOptions;

  constructor(options: RestOptions) {
    this.#options = options;
  }

  /**
   * Sends a message, again and again until the server has answered, once in effect: `client_message_id` is
   * made here unless the body has one. Rejects with RestRefused, or with what fetch throws after five tries.
   */
  send(conversationId: string, body: SendMessageBody): Promise<ChatMessage> {
    const named = { client_message_id: randomId(), ...body };
    return this.#retry(() =>
      this.#call<ChatMessage>('POST', `${messagesOf(conversationId)}?include[]=sender`, named),
    );
  }

  /** Up to 100 messages behind a number, oldest first, with what events carry of them. */
  async after(conversationId: string, sequence: number): Promise<Page> {
    const query = `after_sequence=${sequence}&limit=100&include[]=sender&include[]=attachments`;
    const { data, page_info } = await this.#retry(() =>
      this.#call<List<ChatMessage>>('GET', `${messagesOf(conversationId)}?${query}`),
    );
    return { messages: data, more: page_info.has_next_page };
  }

  message(id: string): Promise<ChatMessage> {
    const query = 'include[]=sender&include[]=attachments';
    return this.#retry(() =>
      this.#call<ChatMessage>('GET', `/v1/messaging/messages/${encodeURIComponent(id)}?${query}`),
    );
  }

  async #retry<T>(work: () => Promise<T>): Promise<T> {
    const { timing } = this.#options;
    const backoff = new Backoff(timing, MOST_WAIT_MS);
    for (let tries = 1; ; tries++) {
      try {
        return await work();
      } catch (error) {
        if (tries === MOST_TRIES || !this.#mayPass(error)) throw error;
        await sleep(timing, backoff.next() + (error instanceof Delayed ? error.waitMs : 0));
      }
    }
  }

  /** What fetch itself throws is the network's. */
  #mayPass(error: unknown): boolean {
    if (!(error instanceof RestRefused)) return true;
    if (error.status === 401) return this.#options.credential.renewable;
    return error.error?.is_transient ?? error.status >= 500;
  }

  async #call<T>(method: 'GET' | 'POST', path: string, body?: object): Promise<T> {
    const { origin, account, version, credential, fetch } = this.#options;
    const response = await fetch(`${await origin()}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${await credential.current()}`,
        'service-version': version,
        'service-account': account,
        'content-type': 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json().catch(() => null);
    if (response.ok && answer !== null) return answer as T;
    if (response.status === 401) credential.expired();
    const waitMs = Number(response.headers.get('retry-after') ?? 0) * 1_000;
    throw new Delayed(response.status, errorIn(answer), waitMs);
  }
}

export interface Page {
  readonly messages: readonly ChatMessage[];
  readonly more: boolean;
}

class Delayed extends RestRefused {
  readonly waitMs: number;

  constructor(status: number, error: ErrorObject | null, waitMs: number) {
    super(status, error);
    this.waitMs = waitMs;
  }
}

function errorIn(answer: unknown): ErrorObject | null {
  const { error } = (answer ?? {}) as { readonly error?: ErrorObject };
  return error ?? null;
}

function messagesOf(conversationId: string): string {
  return `/v1/messaging/conversations/${encodeURIComponent(conversationId)}/messages`;
}

/** crypto.randomUUID is absent on pages without TLS. */
function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const MOST_TRIES = 5;
const MOST_WAIT_MS = 10_000;
