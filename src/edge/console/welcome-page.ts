import type { Document } from '../../platform/http/documents/documents.ts';
import { type Html, html, table } from '../../platform/http/documents/pages/html.ts';
import { htmlPage, type NavLink } from '../../platform/http/documents/pages/html-page.ts';

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

/** `/`: the version that runs here, and links. */
export function welcomePage({ version, runsOn, links, hasDemo, commands }: Welcome): Document {
  return htmlPage({
    title: 'Welcome',
    name: 'welcome',
    nav: { label: 'Parley', links },
    styles: ['/docs/assets/docs.css', '/docs/assets/prose.css'],
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

/** Links that open the console as one person each, side by side if one likes. */
function people(): Html {
  return html`<p>Or as a person of the demo account, each in a window of its own:
<a href="/console/?as=ada" target="_blank">Ada, an admin</a>,
<a href="/console/?as=grace" target="_blank">Grace, a member</a>.</p>`;
}

function tryIt({ tail, send }: NonNullable<Welcome['commands']>): Html {
  return html`<h2 id="try">Try it</h2>
<p>In the checkout, watch a conversation over a socket:</p>
<pre tabindex="0"><code>${tail}</code></pre>
<p>In another terminal, send a message to it:</p>
<pre tabindex="0"><code>${send}</code></pre>`;
}

/** `/demo`: three people of the demo account side by side. demo.js makes all that changes. */
export function demoPage(links: readonly NavLink[]): Document {
  return htmlPage({
    title: 'Demo',
    name: 'demo',
    nav: { label: 'Parley', links },
    styles: ['/docs/assets/docs.css', '/demo/assets/demo.css'],
    scripts: [
      html`<script defer src="/docs/assets/sign-in.js"></script>`,
      html`<script type="module" src="/demo/assets/demo.js"></script>`,
    ],
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
