import type { Document } from '../documents.ts';
import { html } from './html.ts';
import { PAGES, unlistedPage } from './page.ts';

/** What a mistyped address below /docs answers. */
export function missingPage(): Document {
  return unlistedPage('No such page', {
    styles: ['prose.css'],
    main: html`<h1>There is no such page</h1>
<p>The address may be mistyped, or the page may be of another version of this server. These are
there:</p>
<ul>
${Object.values(PAGES).map(({ path, title }) => html`<li><a href="${path}">${title}</a></li>`)}
</ul>`,
  });
}
