/** Which stretch of a list: `fetch` rows in this direction, from behind a row's key (its time, mostly with its id) if given. */
export interface Stretch {
  readonly direction: 'next' | 'previous';
  readonly after: readonly (string | number)[] | null;
  readonly fetch: number;
}

/** Of a list that can be searched in. */
export interface SearchStretch extends Stretch {
  /** Looked for in the list's search columns, case ignored; null: not asked for. */
  readonly search: string | null;
}
