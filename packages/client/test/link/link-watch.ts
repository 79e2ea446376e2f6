import { DOWN, LINK_TABLE, type LinkEvent, type LinkState } from '../../link/link-table.ts';

/** Counts what is looked up in LINK_TABLE, and changes it for a while. */
export class LinkWatch {
  /** How often each cell was looked up, by state and event. */
  readonly counts: number[][];
  /** The state of the link that acted last. */
  state: number = DOWN;
  /** How often one has moved. */
  moves = 0;
  readonly #rows = LINK_TABLE as unknown as (readonly number[])[];
  readonly #originals: readonly (readonly number[])[];

  constructor(t: { teardown(release: () => void): void }) {
    this.#originals = [...this.#rows];
    this.counts = this.#originals.map((row) => row.map(() => 0));
    this.restore();
    t.teardown(() => {
      for (const [state, row] of this.#originals.entries()) this.#rows[state] = row;
    });
  }

  /** Replaces a cell until `restore`. */
  plant(state: LinkState, event: LinkEvent, move: number): void {
    this.#rows[state] = this.#watched(state, this.#originals[state]!.with(event, move));
  }

  restore(): void {
    for (const [state, row] of this.#originals.entries()) this.#rows[state] = this.#watched(state, row);
  }

  #watched(state: number, row: readonly number[]): number[] {
    const get = (_: unknown, event: string) => {
      const move = row[Number(event)]!;
      this.counts[state]![Number(event)]! += 1;
      this.state = move > 0 ? move % 10 : state;
      if (move > 0) this.moves += 1;
      return move;
    };
    return new Proxy([], { get: get as never });
  }
}
