import { codeOf } from '@parley/protocol/errors/error-envelope.ts';
import { ERROR_GUIDE } from '@parley/protocol/errors/error-guide.ts';
import { ERRORS, type ErrorCondition } from '@parley/protocol/errors/errors.ts';
import type { Document } from '../documents.ts';
import { refusalExample } from '../openapi/refusals.ts';
import { type Html, html, prose } from './html.ts';
import { markdownPage } from './page.ts';

/** Returns a page with the anchors to which `doc_url` links (docs/contract.md#errors). */
export function errorsPage(docsUrl: string): Promise<Document> {
  const conditions = Object.keys(ERRORS) as ErrorCondition[];
  const example = JSON.stringify(refusalExample('missing_field', docsUrl), null, 2);
  return markdownPage('errors', {
    example: html`<pre tabindex="0"><code>${example}</code></pre>`,
    codes: [...Map.groupBy(conditions, codeOf)].map(([name, sharing]) => section(name, sharing)),
  });
}

/** Returns the section of a code, which several conditions may share. */
function section(name: string, conditions: readonly ErrorCondition[]): Html {
  return html`<section class="card" id="${name}">
<h3><a href="#${name}"><code>${name}</code></a></h3>
${conditions.map(entry)}
</section>`;
}

function entry(condition: ErrorCondition): Html {
  const { type, status, transient } = ERRORS[condition];
  const { when, remedy } = ERROR_GUIDE[condition];
  return html`<p class="facts"><span>${status}</span> <span>${type}</span>${
    transient ? html` <span class="transient">transient</span>` : ''
  }</p>
<p>${prose(when)} ${prose(remedy)}</p>`;
}
