import type { Document } from '../../platform/http/documents/documents.ts';
import { type Html, html, table } from '../../platform/http/documents/pages/html.ts';
import { htmlPage } from '../../platform/http/documents/pages/html-page.ts';

export interface Welcome {
  readonly version: string;
  /** What the node runs on, for readers on its own machine; undefined for others. */
  readonly runsOn: Readonly<Record<string, string>> | undefined;
  readonly links: readonly WelcomeLink[];
  /** The commands of the demo account, with its API key, for readers on the node's own machine. */
  readonly commands: { readonly tail: string; readonly send: string } | undefined;
}

export interface WelcomeLink {
  readonly path: string;
  readonly title: string;
  readonly summary: string;
}

/** `/`: the version that runs here, and links. */
export function welcomePage({ version, runsOn, links, commands }: Welcome): Document {
  return htmlPage({
    title: 'Welcome',
    name: 'welcome',
    nav: { label: 'Parley', links },
    styles: ['/docs/assets/docs.css', '/docs/assets/prose.css'],
    main: html`<h1>Parley is running</h1>
<p>A realtime messaging gateway: messages and notifications over REST, and live sockets that see each message in order, once.</p>
<ul>
${links.map(({ path, title, summary }) => html`<li><a href="${path}">${title}</a>: ${summary}</li>`)}
</ul>
${commands === undefined ? '' : tryIt(commands)}
<h2 id="node">This node</h2>
${table(
  ['What', 'Which'],
  Object.entries({ version, ...runsOn }).map(([name, value]) => [html`${name}`, html`<code>${value}</code>`]),
)}`,
  });
}

function tryIt({ tail, send }: NonNullable<Welcome['commands']>): Html {
  return html`<h2 id="try">Try it</h2>
<p>In the checkout, watch a conversation over a socket:</p>
<pre tabindex="0"><code>${tail}</code></pre>
<p>In another terminal, send a message to it:</p>
<pre tabindex="0"><code>${send}</code></pre>`;
}
