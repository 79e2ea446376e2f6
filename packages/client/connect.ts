import type { DeclaredStatus } from '@parley/protocol/resources/activity.ts';
import { CURRENT_VERSION, STREAMS_SINCE } from '@parley/protocol/versions.ts';
import { Client } from './client.ts';
import { tried } from './errors/tried.ts';
import { type Activity, activityOf, type PageEvents, platformPage } from './link/activity.ts';
import type { SocketConstructor } from './link/connection.ts';
import { Credential, isVisible } from './link/credential.ts';
import { OriginCheck } from './link/origin-check.ts';
import { askSource, type Source } from './link/source.ts';
import { speaks } from './link/spoken-version.ts';
import { TRANSPORTS, type Transport } from './link/transport.ts';
import { TransportChoice } from './link/transport-choice.ts';
import { type KeyValueStorage, platformStorage, TransportMemory } from './link/transport-memory.ts';
import type { XhrConstructor } from './rest/xhr.ts';
import type { OutboxStore } from './store/outbox-store.ts';
import { SYSTEM_TIMING, type Timing } from './timing/timing.ts';

/** The server and credential of a client, and its parts of the platform. */
export interface ConnectOptions {
  /** The server's URL (`https://chat.example`). Functions run for each connection and request. */
  readonly url: string | Source;
  /** Id of the account (`acc_…`). */
  readonly account: string;
  /** An API key or token that is never replaced. Excludes `getToken`. */
  readonly token?: string;
  /** Returns a valid token. Called first, before a token expires, and after a refusal. */
  readonly getToken?: Source;
  /** Value of Service-Version: the newest of this SDK by default. */
  readonly version?: string;
  /**
   * The transports that the client may use: all by default. It prefers a WebSocket to a stream, and
   * a stream to a poll, and switches by itself. Streams and polls require version 1.3.harbor.
   */
  readonly transports?: readonly Transport[];
  /** Remembers the working transport for a day: a page's `localStorage` by default. */
  readonly storage?: KeyValueStorage;
  /** The platform's own by default. Without one, the client uses other transports. */
  readonly WebSocket?: SocketConstructor;
  /** Sends all requests over HTTP: the platform's own by default. */
  readonly fetch?: typeof fetch;
  /** Reports the progress of uploads: the platform's own by default, which Node does not have. */
  readonly XMLHttpRequest?: XhrConstructor;
  /** In a browser, the page's own events by default. */
  readonly page?: PageEvents;
  /**
   * Whether a person has the application before it: the visibility of the page by default. In React
   * Native pass `appActivity(AppState)` of `@parley/client/native`.
   */
  readonly activity?: Activity;
  /**
   * The caller's presence while connected; `online` is `away` in the background. False declares
   * none. By default `online` in a page or with an `activity`, and none elsewhere.
   */
  readonly presence?: DeclaredStatus | false;
  /** Longest wait between two tries, in milliseconds; 15,000 by default. */
  readonly mostWaitMs?: number;
  /** Time and randomness of the platform by default. */
  readonly timing?: Timing;
  /** Keeps outgoing messages and changes until the server has them, as `openStore` does. */
  readonly store?: OutboxStore;
}

/** Connects and reconnects until `close()` or `end`. Throws TypeError for malformed options. */
export function connect({
  url,
  account,
  token,
  getToken,
  version = CURRENT_VERSION,
  transports = TRANSPORTS,
  storage = platformStorage(),
  WebSocket = PLATFORM.WebSocket,
  XMLHttpRequest = PLATFORM.XMLHttpRequest,
  // Browsers refuse to call it as a method of another object.
  fetch = (...request) => globalThis.fetch(...request),
  page = platformPage(),
  activity = page && activityOf(page),
  presence = activity !== undefined && 'online',
  mostWaitMs = 15_000,
  timing = SYSTEM_TIMING,
  store,
}: ConnectOptions): Client {
  const base = typeof url === 'function' ? undefined : Promise.resolve(baseUrlOf(url));
  if (!isVisible(account)) throw new TypeError('account must be an id like acc_….');
  if (store !== undefined && store.account !== account) throw new TypeError('store is of another account.');
  const usable = transports.filter((transport) =>
    transport === 'websocket'
      ? WebSocket !== undefined
      : // Without streams an answer is there only as a whole.
        speaks(version, STREAMS_SINCE) && (transport === 'poll' || 'ReadableStream' in globalThis),
  );
  let cell: string | undefined;
  const origin = async () => cell ?? base ?? askSource('url_source', url as Source, baseUrlOf, timing);
  return new Client({
    origin,
    originCheck: new OriginCheck({ origin, fetch }, page !== undefined),
    follow: (error) => {
      cell = error?.cell_url ?? cell;
      return error?.cell_url;
    },
    account,
    version,
    credential: new Credential(token, getToken, timing),
    choice: new TransportChoice(usable, new TransportMemory(storage)),
    WebSocket,
    fetch,
    XMLHttpRequest,
    activity,
    presence,
    mostWaitMs: () => activity?.mostWaitMs ?? mostWaitMs,
    timing,
    store,
  });
}

const PLATFORM: Pick<ConnectOptions, 'WebSocket' | 'XMLHttpRequest'> = globalThis as object;

/**
 * Returns the base of every URL of a server, such as `https://chat.example/parley`, without a
 * trailing slash. Accepts pasted forms: `ws:` and `wss:`, trailing slashes, the path of the API or
 * of the socket. Throws TypeError for text that cannot be the URL of a server.
 */
export function baseUrlOf(text: unknown): string {
  // The URL of React Native reads http: and https: alone.
  const url = tried(() => new URL(String(text).replace(/^\s*ws/i, 'http')));
  if (!url || !/^https?:$/.test(url.protocol) || url.search + url.hash + url.username + url.password) {
    throw new TypeError(
      `url must be the address of a Parley server, such as https://chat.example, not ${JSON.stringify(text)}.`,
    );
  }
  return `${url.protocol}//${url.host}${url.pathname.replace(API_PATH, '').replace(/\/+$/, '')}`;
}

const API_PATH = /\/v1(\/realtime)?\/*$/;
