/** Lines over one pair of axes. */
export interface Curves {
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly lines: readonly { readonly name: string; readonly points: readonly Point[] }[];
}

export interface Axis {
  readonly label: string;
  readonly scale: 'linear' | 'logarithmic';
}

export type Point = readonly [x: number, y: number];
