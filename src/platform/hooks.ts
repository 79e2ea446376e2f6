/**
 * A point at which others may add something. Who asks for it defines it, with the type of what is
 * added; `implement` makes an entry, and Hooks holds the entries of a process.
 */
export interface Hook<Value> {
  readonly name: string;
  /** Never set: it makes hooks with different values different types, in both directions. */
  readonly value?: (value: Value) => Value;
}

export function defineHook<Value>(name: string): Hook<Value> {
  return { name };
}

/** An entry of a hook. Made only by `implement`, which knows the type of the value. */
export interface Implementation {
  readonly hook: string;
  readonly value: unknown;
}

export function implement<Value>({ name }: Hook<Value>, value: NoInfer<Value>): Implementation {
  return { hook: name, value };
}

/** What was added to each hook, in the order in which it was added. */
export class Hooks {
  readonly #values: ReadonlyMap<string, readonly Implementation[]>;

  constructor(entries: readonly Implementation[]) {
    this.#values = Map.groupBy(entries, ({ hook }) => hook);
  }

  all<Value>({ name }: Hook<Value>): readonly Value[] {
    // `implement` has checked the value against the hook of this name.
    return (this.#values.get(name) ?? []).map(({ value }) => value as Value);
  }

  /** Returns undefined if nothing was added. */
  first<Value>(hook: Hook<Value>): Value | undefined {
    return this.all(hook)[0];
  }
}

export const NO_HOOKS = new Hooks([]);
