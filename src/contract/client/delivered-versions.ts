/**
 * Remembers the last version of each resource that was passed on, so that a change that arrives
 * again or late is recognised (docs/realtime.md#catching-up). It keeps the latest two thousand
 * resources, because a socket may live for months: after a break at most a thousand messages and a
 * thousand changes arrive (otherwise the server sends `resync`). Versions are the server's times,
 * which sort as text.
 */
export class DeliveredVersions {
  readonly #versions = new Map<string, { readonly version: string; readonly as: string }>();

  knows(thing: string): boolean {
    return this.#versions.has(thing);
  }

  /**
   * Returns true if this version is new, and remembers it. `as` separates events that share
   * resource and time.
   */
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
