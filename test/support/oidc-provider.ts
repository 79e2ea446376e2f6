import { exportJWK, generateKeyPair, importJWK, type JWTPayload, SignJWT } from 'jose';
import { startChild } from './child.ts';
import type { Teardown } from './teardown.ts';
import { until } from './until.ts';

/** A client of the provider, with the metadata that OpenID Connect names. */
interface OidcClient {
  readonly client_id: string;
  readonly client_secret: string;
  readonly redirect_uris: readonly string[];
  readonly backchannel_logout_uri: string;
  readonly backchannel_logout_session_required: boolean;
}

/** A real OpenID provider in a separate process. */
export interface OidcProvider {
  readonly issuer: string;
  /** Starts it with its clients, whose redirect addresses have ids that depend on its address. */
  start(clients: readonly OidcClient[]): Promise<void>;
  /** Signs as the provider does. */
  sign(payload: JWTPayload, header?: Readonly<Record<string, string>>): Promise<string>;
}

export async function prepareOidcProvider(t: Teardown): Promise<OidcProvider> {
  const child = startChild(t, 'oidc-provider-child.js', []);
  const issuer = String((await child.output).issuer);
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = { ...(await exportJWK(privateKey)), kid: 'first', alg: 'RS256', use: 'sig' };
  return {
    issuer,
    async start(clients) {
      child.process.stdin!.write(`${JSON.stringify({ clients, jwks: { keys: [jwk] } })}\n`);
      const isStarted = async () => (await fetch(`${issuer}/.well-known/openid-configuration`)).ok;
      await until(isStarted, { what: 'the provider' });
    },
    async sign(payload, header = {}) {
      const key = await importJWK(jwk, 'RS256');
      return new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'first', ...header }).sign(key);
    },
  };
}

/** The HTTP side of a browser: it keeps the cookies of each host. */
export class CookieJar {
  readonly #cookies = new Map<string, string>();

  header(url: string): string {
    const { host } = new URL(url);
    return [...this.#cookies]
      .filter(([name]) => name.startsWith(`${host} `))
      .map(([name, value]) => `${name.slice(host.length + 1)}=${value}`)
      .join('; ');
  }

  /** Requests without following redirects, and keeps the cookies of the answer. */
  async fetch(url: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    if (this.header(url) !== '') headers.set('Cookie', this.header(url));
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(';');
      const [name = '', value = ''] = pair.split('=', 2);
      const key = `${new URL(url).host} ${name}`;
      if (value === '' || attributes.some((text) => /^ *Max-Age=0$/i.test(text))) this.#cookies.delete(key);
      else this.#cookies.set(key, value);
    }
    return response;
  }

  get(url: string, name: string): string | undefined {
    return this.#cookies.get(`${new URL(url).host} ${name}`);
  }

  set(url: string, name: string, value: string): void {
    this.#cookies.set(`${new URL(url).host} ${name}`, value);
  }

  /**
   * Follows redirects, and signs in at the provider under this name if asked, until `isEnd` holds
   * for the next address. Returns that address, which was not requested.
   */
  async follow(url: string, login: string, isEnd: (url: URL) => boolean): Promise<string> {
    let next = url;
    for (let steps = 0; steps < 20; steps++) {
      if (isEnd(new URL(next))) return next;
      let answer = await this.fetch(next);
      if (answer.status === 200) {
        const body = new URLSearchParams({ login });
        answer = await this.fetch(next, { method: 'POST', body });
      }
      const location = answer.headers.get('Location');
      if (location === null) throw new Error(`${answer.status} at ${next}: ${await answer.text()}`);
      next = new URL(location, next).href;
    }
    throw new Error(`it goes on from ${next}`);
  }
}
