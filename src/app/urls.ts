import type { Config } from '../config.ts';
import { isLoopbackAddress, isLoopbackOrigin } from '../http/loopback.ts';

/** Where a node is reached. */
export class Urls {
  /** Set once the server listens, where the configuration leaves the choice to the system (0). */
  port: number;
  readonly #config: Config;

  constructor(config: Config) {
    this.#config = config;
    this.port = config.port;
  }

  /** This node itself. */
  get base(): string {
    const { tls, host } = this.#config;
    return `${tls === null ? 'http' : 'https'}://${hostInUrl(host)}:${this.port}`;
  }

  /** Where callers reach it: behind a balancer only the operator knows. */
  get public(): string {
    return this.#config.publicUrl ?? this.base;
  }

  /** Where errors point for more: this server's own pages unless an operator has better ones. */
  get docs(): string {
    if (this.#config.docsUrl !== null) return this.#config.docsUrl;
    // A port that the system chooses is not known when the first error may be made.
    return this.port === 0 && this.#config.publicUrl === null ? '/docs' : `${this.public}/docs`;
  }

  /** Whether this node is reached from its own machine alone: a public URL means that a proxy brings others. */
  get isLocal(): boolean {
    const { host, publicUrl } = this.#config;
    return isLoopbackAddress(host) && (publicUrl === null || isLoopbackOrigin(new URL(publicUrl).origin));
  }
}

function hostInUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
