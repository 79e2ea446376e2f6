import { CURRENT_VERSION } from '../protocol/versions.ts';
import { Client } from './client.ts';
import type { SocketConstructor } from './connection.ts';
import { Credential, type TokenSource } from './credential.ts';
import { SYSTEM_TIMING, type Timing } from './timing.ts';

export interface ConnectOptions {
  /** Where Parley is, such as `https://chat.example`; a function is asked before each connection. */
  readonly url: string | (() => string | Promise<string>);
  readonly account: string;
  /** An API key or token that does not have to be replaced. Either this or `getToken`. */
  readonly token?: string;
  /** A valid token: asked at first, before one expires, and when the server no longer takes the last one. */
  readonly getToken?: TokenSource;
  /** Value of Service-Version. */
  readonly version?: string;
  /** Default: the platform's own, as with `fetch`. */
  readonly WebSocket?: SocketConstructor;
  readonly fetch?: typeof fetch;
  /** Longest wait between two tries, in milliseconds; default 15,000. */
  readonly mostWaitMs?: number;
  readonly timing?: Timing;
}

/**
 * Connects, and stays connected until `close()` or until the server says not to come back (event `end`).
 * Throws TypeError where the credential is missing or given twice.
 */
export function connect({ url, account, token, getToken, version, ...rest }: ConnectOptions): Client {
  return new Client({
    origin: typeof url === 'string' ? () => url : url,
    account,
    version: version ?? CURRENT_VERSION,
    credential: new Credential({ token, getToken }),
    WebSocket: rest.WebSocket ?? WebSocket,
    // Browsers refuse to call it as a method of something else.
    fetch: rest.fetch ?? ((input, init) => fetch(input, init)),
    mostWaitMs: rest.mostWaitMs ?? 15_000,
    timing: rest.timing ?? SYSTEM_TIMING,
  });
}
