import type { Document } from '../../api/documents/documents.ts';
import { type Html, html, table } from '../../api/documents/pages/html.ts';
import { htmlPage } from '../../api/documents/pages/html-page.ts';

export interface Welcome {
  readonly version: string;
  /** The node's parts, for readers on its own machine; undefined for others. */
  readonly runsOn: Readonly<Record<string, string>> | undefined;
  readonly links: readonly WelcomeLink[];
  /** Whether the people of the demo account may be shown, for readers on the node's own machine. */
  readonly hasDemo: boolean;
  /** The demo account's commands, with its API key, for readers on the node's own machine. */
  readonly commands: { readonly tail: string; readonly send: string } | undefined;
}

export interface WelcomeLink {
  readonly path: string;
  readonly title: string;
  readonly summary: string;
}

/** Returns `/`: the version that runs here, and links. */
export function welcomePage({ version, runsOn, links, hasDemo, commands }: Welcome): Document {
  return htmlPage({
    title: 'Welcome',
    name: 'welcome',
    nav: { label: 'Parley', links },
    styles: ['/docs/assets/prose.css'],
    main: html`<h1>Parley is running</h1>
<p>A realtime messaging gateway: messages and notifications over REST, and live sockets that see each message in order, once.</p>
<p><a class="main-link" href="/console/">Open the console</a></p>
${hasDemo ? people() : ''}
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

/** Returns links to a window for each person: team in the console, customer in a shop. */
function people(): Html {
  return html`<p>Or as a person of the demo account, each in a window of its own:
<a href="/console/newest?as=ada" target="_blank">Ada, an admin</a>,
<a href="/console/newest?as=grace" target="_blank">Grace, a member</a>,
<a href="/demo/shop" target="_blank">Carl, a customer in a sample shop</a>.</p>`;
}

function tryIt({ tail, send }: NonNullable<Welcome['commands']>): Html {
  return html`<h2 id="try">Try it</h2>
<p>In the checkout, watch a conversation over a socket:</p>
<pre tabindex="0"><code>${tail}</code></pre>
<p>In another terminal, send a message to it:</p>
<pre tabindex="0"><code>${send}</code></pre>`;
}
