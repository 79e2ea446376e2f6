import type { Document } from '../documents.ts';
import { tagOf, tagsOf } from '../openapi-tags.ts';
import type { Route } from '../route.ts';
import { type Html, html } from './html.ts';
import { pageOf } from './page.ts';

/** The OpenAPI document, rendered by Swagger UI; without scripts it is a list of the endpoints. */
export function referencePage(routes: readonly Route[]): Document {
  return pageOf('reference', {
    styles: ['swagger-ui.css', 'reference.css'],
    scripts: ['swagger-ui-bundle.js', 'reference.js'],
    main: html`<div id="reference">
<h1>Parley API</h1>
<p>The whole contract as data: <a href="/v1/openapi.json">/v1/openapi.json</a>.</p>
${tagsOf(routes.map(({ path }) => path)).map(({ name, description }) => chapter(name, description, routes))}
</div>`,
  });
}

function chapter(name: string, description: string, routes: readonly Route[]): Html {
  return html`<h2>${name}</h2>
<p>${description}</p>
<ul class="plain">
${routes
  .filter(({ path }) => tagOf(path) === name)
  .map(
    ({ method, path, summary }) => html`<li><code>${method} ${path}</code> <small>${summary}</small></li>`,
  )}
</ul>`;
}
