/** A page of a list: `fetch` rows in this direction, after a row's key (its time, usually with its id) if given. */
export interface Stretch {
  readonly direction: 'next' | 'previous';
  readonly after: readonly (string | number)[] | null;
  readonly fetch: number;
}

/** A page of a list that can be searched. */
export interface SearchStretch extends Stretch {
  /** Searched for in the list's search columns, ignoring case; null: no search. */
  readonly search: string | null;
}
