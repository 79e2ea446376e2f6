import type { List } from '@parley/protocol/lists.ts';
import type {
  ChatMessage,
  MessageInclude,
  SendMessageBody,
} from '@parley/protocol/resources/chat-message.ts';
import { type ClientError, clientError } from '../errors/client-error.ts';
import { lost, type ParleyError, reasonOf } from '../errors/parley-error.ts';
import { hexOf } from '../events/hex.ts';
import { type CallOptions, within } from '../link/call-scope.ts';
import type { OriginCheck } from '../link/origin-check.ts';
import { Backoff, Pauses } from '../link/pauses.ts';
import { answerOf, requestHeaders, type Server } from '../link/server.ts';
import { speaks } from '../link/spoken-version.ts';
import type { FetchOptions } from './pages.ts';
import { conversationPath, messagePath } from './paths.ts';
import type { UploadHost } from './upload.ts';
import type { XhrConstructor } from './xhr.ts';

export interface RestOptions extends Server {
  readonly originCheck: OriginCheck;
  /** Undefined where the platform has none. */
  readonly XMLHttpRequest: XhrConstructor | undefined;
}

export interface RestHost {
  /** Aborts when the client is closed. */
  readonly closing: AbortSignal;
  /** A try failed, and another follows. */
  failed(error: ClientError): void;
  /** An answer of the server that is not an error. */
  answered(answer: object): void;
}

/** Requests over REST with the client's credential, repeated if that may help. */
export class Rest {
  readonly #options: RestOptions;
  readonly #host: RestHost;
  readonly #pauses: Pauses;
  /** Whether the spoken version has all parts of messages. */
  readonly #hasParts: boolean;

  constructor(options: RestOptions, host: RestHost) {
    this.#options = options;
    this.#host = host;
    this.#pauses = new Pauses(options.timing);
    this.#hasParts = speaks(options.version, '1.2.harbor');
  }

  /**
   * Sends a message, in as many tries as it takes. Every try has the same `client_message_id` (made
   * here unless the body has one), so it is sent once. Rejects as `fetch` does.
   */
  send(conversationId: string, body: SendMessageBody, options: CallOptions): Promise<ChatMessage> {
    const parts: MessageInclude[] = ['sender'];
    if (this.#hasParts && body.attachments?.length) parts.push('attachments');
    if (this.#hasParts && body.reply_to_message_id !== undefined) parts.push('reply_to');
    const path = conversationPath(conversationId, `/messages?${this.including(parts)}`);
    const text = JSON.stringify({ client_message_id: randomId(), ...body });
    return this.#retry<ChatMessage>({ method: 'POST', path, body: text }, options);
  }

  /** Implements Api.fetch. */
  fetch<T>(
    path: string,
    { method = 'GET', body, mostTries = 5, idempotencyKey = randomId(), ...options }: FetchOptions = {},
  ): Promise<T> {
    const key = method === 'GET' ? undefined : idempotencyKey;
    const call = { method, path, body: body && JSON.stringify(body), idempotencyKey: key };
    return this.#retry<T>(call, options, mostTries);
  }

  /** The host of uploads, which are loaded on first use. */
  get uploadHost(): UploadHost {
    return {
      ...this.#options,
      pause: (signal) => this.#pauses.wait({ leastMs: 0, ms: this.#options.mostWaitMs() }, signal),
      closing: this.#host.closing,
      platformFetch: this.#options.fetch,
      fetch: (path, request) => this.fetch(path, request),
    };
  }

  /** Returns the messages behind a number, expanded as in events, the oldest first. */
  async messages(conversationId: string, after: number): Promise<Page> {
    const query = `?after_sequence=${after}&limit=100&${this.including(EVENT_PARTS)}`;
    const path = conversationPath(conversationId, `/messages${query}`);
    const { data, page_info } = await this.fetch<List<ChatMessage>>(path);
    return { messages: data, more: page_info.has_next_page };
  }

  message(id: string): Promise<ChatMessage> {
    return this.fetch<ChatMessage>(messagePath(id, `?${this.including(EVENT_PARTS)}`));
  }

  /** Returns the query for the parts that the spoken version has. */
  including(parts: readonly MessageInclude[]): string {
    const known = parts.filter((part) => this.#hasParts || (part !== 'reactions' && part !== 'thread'));
    return known.map((part) => `include[]=${part}`).join('&');
  }

  /** Makes waiting tries now, because the network is back. */
  wake(): void {
    this.#pauses.wake();
  }

  #retry<T>(call: Call, options: CallOptions, mostTries = Infinity): Promise<T> {
    const { timing, credential, follow, mostWaitMs } = this.#options;
    const backoff = new Backoff(timing, mostWaitMs);
    /** The status of the last try, if it has changed the token or the server. */
    let changedAt: unknown;
    return within(timing, options, this.#host.closing, async (signal) => {
      for (let tries = 1; ; tries++) {
        signal.throwIfAborted();
        try {
          return (await this.#try(call, signal)) as T;
        } catch (cause) {
          signal.throwIfAborted();
          const error = lost(cause);
          const isChanged = follow(error.error) ?? (error.status === 401 && credential.renewable);
          // A refused token is replaced at once, and so is a server that the account has left; a
          // refused successor is final.
          const isFinal = isChanged ? changedAt === error.status : !error.isTransient;
          if (isFinal || tries >= mostTries) throw error;
          this.#report(error);
          changedAt = isChanged && error.status;
          if (!isChanged)
            await this.#pauses.wait({ leastMs: error.retryAfterMs ?? 0, ms: backoff.next() }, signal);
        }
      }
    });
  }

  /** Makes one request within 30 s: a vanished peer may leave a connection open for minutes. */
  async #try({ method, path, body, idempotencyKey }: Call, parent: AbortSignal): Promise<unknown> {
    const { origin, credential, fetch, originCheck, timing } = this.#options;
    const [base, token] = await Promise.all([origin(), credential.current()]);
    return within(timing, { timeoutMs: TRY_MS }, parent, async (signal) => {
      const response = await fetch(`${base}${path}`, {
        method,
        headers: {
          ...requestHeaders(this.#options, token),
          ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
        },
        ...(body && { body }),
        signal,
      }).catch((failure: unknown) => {
        if (!signal.aborted) void originCheck.ask();
        throw originCheck.refusal ?? failure;
      });
      originCheck.isOver = true;
      if (response.status === 401) credential.expired(token);
      const answer = await answerOf(response);
      this.#host.answered(answer);
      return answer;
    });
  }

  #report(error: ParleyError): void {
    // The credential reports its failures once for all callers that wait for it.
    if (error.code === 'token_source') return;
    const thrown = error.cause instanceof Error ? error.cause : error;
    this.#host.failed(clientError(reasonOf(error), true, error.error ?? thrown));
  }
}

export interface Page {
  readonly messages: readonly ChatMessage[];
  readonly more: boolean;
}

interface Call {
  readonly method: string;
  readonly path: string;
  readonly body?: string | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** Returns the body of a request that may be given as a text alone. */
export function bodyOf<T extends object>(given: string | T): T | { readonly body: string } {
  return typeof given === 'string' ? { body: given } : given;
}

/** Returns a UUID. Pages without TLS lack crypto.randomUUID, React Native lacks all of crypto. */
export function randomId(): string {
  const bytes = new Uint8Array(16);
  return hexOf(globalThis.crypto?.getRandomValues(bytes) ?? bytes.map(() => Math.random() * 256));
}

/** The sub-objects of events, and the reactions, which have their own events. */
const EVENT_PARTS = ['sender', 'attachments', 'reactions'] as const;
const TRY_MS = 30_000;
