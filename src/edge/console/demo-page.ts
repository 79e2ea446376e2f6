import type { Document } from '../../platform/http/documents/documents.ts';
import { html } from '../../platform/http/documents/pages/html.ts';
import { htmlPage, type NavLink } from '../../platform/http/documents/pages/html-page.ts';

/**
 * `/demo`: three people of the demo account side by side. demo.js makes everything that changes.
 */
export function demoPage(links: readonly NavLink[]): Document {
  return htmlPage({
    title: 'Demo',
    name: 'demo',
    nav: { label: 'Parley', links },
    styles: ['/docs/assets/docs.css', '/demo/assets/demo.css'],
    scripts: [html`<script type="module" src="/demo/assets/demo.js"></script>`],
    main: html`<h1>Three people, live</h1>
<p class="intro">Ada and Grace are the team, Carl is a customer. Each pane is a client of its own on
<code>/v1/client.js</code>. Write in one and watch the others; start with <code>@assistant</code> to
have the agent answer. Asked to <em>create a summary</em>, it wants to keep a file, and waits:
everyone in that conversation who may decide is asked, and the first decision counts. On a case,
yellow is a note to the team, which the customer never sees.</p>
<p id="problem" role="alert"></p>
<noscript><p>The demo needs JavaScript.</p></noscript>
<div id="panes"></div>`,
  });
}
