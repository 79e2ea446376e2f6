/** The owner of a store's messages, which the application must know without a connection. */
export interface StoreOptions {
  /** The account that is passed to `connect`. */
  readonly account: string;
  /** The id of the signed-in actor, or `ext:` and its own id. Without it `name` is required. */
  readonly actor?: string;
  /**
   * Any name that the application has for the signed-in person, in place of `actor`. The store
   * belongs to the actor of the first client that connects with it, until it is cleared.
   */
  readonly name?: string;
  /**
   * Keeps the last page of each inbox and each conversation that is opened, and shows it after a
   * reload until the server has answered. Without it no page is kept.
   */
  readonly pages?: PageLimits;
}

/** How much of what was read stays on the device. */
export interface PageLimits {
  /** Megabytes in all; the pages that were opened first go first. */
  readonly limitMb: number;
}

/** Returns the actor or its name. Throws a TypeError without exactly one of the two. */
export function ownerOf({ actor, name }: Pick<StoreOptions, 'actor' | 'name'>): {
  readonly actor: string;
  readonly isNamed: boolean;
} {
  const known = actor ?? name;
  if (known !== undefined && (actor === undefined || name === undefined))
    return { actor: known, isNamed: actor === undefined };
  throw new TypeError('A store is for an actor or has a name: pass one of the two.');
}
