/** Bars side by side, each divided into the same parts. */
export interface Bars {
  readonly title: string;
  /** The unit of the values: `µs`. */
  readonly unit: string;
  /** From left to right; parts that no bar has are not drawn. */
  readonly parts: readonly string[];
  readonly bars: readonly Bar[];
}

export interface Bar {
  readonly name: string;
  readonly values: Readonly<Record<string, number>>;
}
