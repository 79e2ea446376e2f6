import type { ComponentChildren } from 'preact';

/** A choice that a field offers. */
export interface Choice {
  readonly id: string;
  readonly name: string;
  /** Stands behind the name, quietly. */
  readonly detail?: string | null | undefined;
  /** Stands before the name. */
  readonly picture?: ComponentChildren;
  /** Stands above the first choice of its group. */
  readonly group?: string;
}

/** Shows a choice on one line. */
export function ChoiceLine({ choice: { name, detail, picture } }: { readonly choice: Choice }) {
  return (
    <span class="choice-line">
      {picture}
      <span class="one-line">{name}</span>
      {detail && <span class="choice-line-detail">{detail}</span>}
    </span>
  );
}
