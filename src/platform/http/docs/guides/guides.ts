import type { Document } from '../../documents.ts';
import { html } from '../html.ts';
import { guidePage, pageOf } from '../page.ts';
import { AGENT } from './agent.ts';
import { CASES } from './cases.ts';
import { CHAT_CLIENT } from './chat-client.ts';
import { FILES } from './files.ts';
import { GETTING_STARTED } from './getting-started.ts';
import type { Guide } from './guide.ts';
import { NOTIFICATIONS } from './notifications.ts';
import { SDK } from './sdk.ts';
import { TOKENS_FOR_PAGES } from './tokens-for-pages.ts';
import { WEBHOOKS } from './webhooks.ts';

/** In reading order. */
export const GUIDES: readonly Guide[] = [
  GETTING_STARTED,
  CHAT_CLIENT,
  TOKENS_FOR_PAGES,
  FILES,
  NOTIFICATIONS,
  CASES,
  AGENT,
  WEBHOOKS,
  SDK,
];

export function pathOf({ slug }: Guide): string {
  return `/docs/guides/${slug}`;
}

/** `/docs/guides`: the list of guides. */
export function guidesPage(): Document {
  return pageOf('guides', {
    styles: ['prose.css'],
    main: html`<h1>Guides</h1>
<p>From the first request to a whole client. The examples run: a test executes each of them against a server.</p>
<ol class="guide-list">
${GUIDES.map((guide) => html`<li><a href="${pathOf(guide)}">${guide.title}</a><br>${guide.summary}</li>`)}
</ol>
<p>The <a href="/docs">API reference</a> has every endpoint, <a href="/docs/socket">Socket</a> every frame.</p>`,
  });
}

/** A guide, with links to its neighbours. */
export function pageOfGuide(guide: Guide): Document {
  const index = GUIDES.indexOf(guide);
  const [before, after] = [GUIDES[index - 1], GUIDES[index + 1]];
  return guidePage(guide.title, {
    styles: ['prose.css'],
    scripts: ['copy.js'],
    main: html`<h1>${guide.title}</h1>
${guide.main}
<nav class="neighbours" aria-label="Guides">
${before === undefined ? html`<a href="/docs/guides">All guides</a>` : html`<a rel="prev" href="${pathOf(before)}">${before.title}</a>`}
${after === undefined ? html`<a href="/docs/guides">All guides</a>` : html`<a rel="next" href="${pathOf(after)}">${after.title}</a>`}
</nav>`,
  });
}
