/**
 * Which version of a thing was passed on last, so that a change that comes again, or late, is told from
 * news (docs/realtime.md#catching-up). Keeps the latest two thousand things, for a socket may live for months: after a
 * break at most a thousand messages and a thousand changes come (else the server sends `resync`). Versions are
 * the server's times: text that sorts.
 */
export class DeliveredVersions {
  readonly #versions = new Map<string, { readonly version: string; readonly as: string }>();

  knows(thing: string): boolean {
    return this.#versions.has(thing);
  }

  /** True where this is news, which counts as passed on then. `as` tells apart what shares thing and time. */
  isNews(thing: string, version: string, as = ''): boolean {
    const last = this.#versions.get(thing);
    if (last !== undefined && (version < last.version || (version === last.version && as === last.as))) {
      return false;
    }
    this.#versions.delete(thing);
    this.#versions.set(thing, { version, as });
    if (this.#versions.size > MAX_SEEN) this.#versions.delete(this.#versions.keys().next().value!);
    return true;
  }
}

const MAX_SEEN = 2_000;
