/**
 * The hooks by which slices ask others that may be missing: the name and type of each entry. A
 * slice that asks adds its hooks by `declare module`, and says there what holds without an entry.
 */
export interface HookTable {
  /** The name in `settings` by which triggers leave notes only if a node can read them. */
  setting: string;
}

/** Entries of one contributor, at most one per hook. */
export type Entries = { readonly [Name in keyof HookTable]?: HookTable[Name] };

/** The entries of a process, in the order of their contributors. */
export class Hooks {
  readonly #entries: readonly Entries[];

  constructor(entries: readonly Entries[]) {
    this.#entries = entries;
  }

  all<Name extends keyof HookTable>(name: Name): readonly HookTable[Name][] {
    return this.#entries.flatMap((entries) => (entries[name] === undefined ? [] : [entries[name]!]));
  }

  /** Returns undefined if nobody has an entry. */
  first<Name extends keyof HookTable>(name: Name): HookTable[Name] | undefined {
    return this.all(name)[0];
  }
}

export const NO_HOOKS = new Hooks([]);
