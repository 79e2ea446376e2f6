/** The colour of a node in the plots, by its place in the list. */
export function Swatch({ place }: { readonly place: number }) {
  return <span class="installation-swatch" data-place={place % PLACES} aria-hidden="true" />;
}

/** The number of colours, which are in the style sheet. */
export const PLACES = 6;
