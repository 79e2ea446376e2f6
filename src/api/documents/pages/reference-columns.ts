import { type Html, html, type Part } from './html.ts';

export interface ReferenceColumns {
  /** The content of the reference in the plural, such as `Endpoints`. */
  readonly names: string;
  /** The label of the filter. */
  readonly find: string;
  /** The text in the filter while it is empty. */
  readonly example: string;
  readonly contents: Part;
  readonly text: Part;
}

/** Returns the columns of a reference: the contents with a filter (reference.js), and the text. */
export function referenceColumns({ names, find, example, contents, text }: ReferenceColumns): Html {
  return html`<div class="columns">
<div class="side">
<details class="contents" id="contents" open>
<summary>${names}</summary>
<form role="search" id="finder" data-of="${names.toLowerCase()}" hidden>
<label for="filter">${find}</label>
<input type="search" id="filter" autocomplete="off" placeholder="${example}">
<p id="found" role="status"></p>
</form>
<nav aria-label="${names}">
${contents}
</nav>
</details>
</div>
<div class="text">
${text}
</div>
</div>`;
}

/** Returns one group of the contents: its heading's anchor and title, and its places. */
export function contentsGroup(
  anchor: string,
  title: string,
  places: readonly { readonly anchor: string; readonly name: Part }[],
): Html {
  return html`<div class="group">
<p><a href="#${anchor}">${title}</a></p>
<ul class="plain">
${places.map((place) => html`<li><a href="#${place.anchor}">${place.name}</a></li>`)}
</ul>
</div>`;
}
