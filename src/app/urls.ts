import { isLoopbackAddress, isLoopbackOrigin } from '../platform/http/origins.ts';
import type { Config } from './config.ts';

export class Urls {
  /** Set once the server listens, if the configuration lets the system choose the port (0). */
  port: number;
  readonly #config: Config;

  constructor(config: Config) {
    this.#config = config;
    this.port = config.port;
  }

  get base(): string {
    const { tls, host } = this.#config;
    return `${tls === null ? 'http' : 'https'}://${hostInUrl(host)}:${this.port}`;
  }

  /** Returns the URL for callers, which behind a balancer only the operator knows. */
  get public(): string {
    return this.#config.publicUrl ?? this.base;
  }

  /**
   * Returns the URL for a caller that has asked this host: the public one if it is of that host, or
   * else the host itself, since a node can have addresses that only its own network knows.
   */
  askedAt(host: string | undefined): string {
    const { publicUrl } = this.#config;
    const originBeside = (url: string) => URL.parse(`//${host ?? ''}`, url)?.origin;
    if (publicUrl !== null && originBeside(publicUrl) === new URL(publicUrl).origin) return publicUrl;
    return originBeside(this.base) ?? this.public;
  }

  /** Returns the URL of the documentation in errors: this server's pages, or the operator's. */
  get docs(): string {
    if (this.#config.docsUrl !== null) return this.#config.docsUrl;
    // A port chosen by the system may still be unknown at the first error.
    return this.port === 0 && this.#config.publicUrl === null ? '/docs' : `${this.public}/docs`;
  }

  /** Returns whether only this machine can reach the node; a public URL means a proxy. */
  get isLocal(): boolean {
    const { host, publicUrl } = this.#config;
    return isLoopbackAddress(host) && (publicUrl === null || isLoopbackOrigin(new URL(publicUrl).origin));
  }
}

function hostInUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
