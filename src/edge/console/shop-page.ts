import type { Document } from '../../api/documents/documents.ts';
import { html, table } from '../../api/documents/pages/html.ts';
import { htmlPage } from '../../api/documents/pages/html-page.ts';

/**
 * The sample shop, an application whose pages embed a widget. The customer of the demo account is
 * signed in there, and the shop's own tokens say so, as those of any application do
 * (docs/contract.md#widgets).
 */
export interface Shop {
  readonly account: string;
  readonly widget: string;
}

/** Returns `/demo/shop`: an application's page with the widget of the demo account. */
export function shopPage({ account, widget }: Shop): Document {
  return htmlPage({
    title: 'Sample shop',
    name: 'shop',
    nav: { label: 'Demo', links: [...TEAM, { path: '/demo/shop', title: 'Sample shop', current: true }] },
    styles: ['/docs/assets/prose.css'],
    scripts: [
      html`<script defer src="/widget.js" data-account="${account}" data-widget="${widget}"></script>`,
      html`<script defer src="/demo/shop.js"></script>`,
    ],
    main: html`<h1>Sample shop</h1>
<p>This page stands for one of yours. Carl, a customer, is signed in to it: open the chat in the
corner, and answer him as the team, in <a href="/console/newest?as=ada" target="_blank">Ada’s window</a>
or in <a href="/console/newest?as=grace" target="_blank">Grace’s</a>. He sees replies and never notes.</p>
<p><span id="visitor" role="status"></span> <button type="button" id="sign" hidden></button></p>
${table(['Article', 'Price'], ARTICLES)}`,
  });
}

const TEAM = [
  { path: '/console/newest?as=ada', title: 'Ada' },
  { path: '/console/newest?as=grace', title: 'Grace' },
];
const ARTICLES = [
  [html`Hemp rope, 10 m`, html`18.00`],
  [html`Signal flags, set of 40`, html`64.00`],
  [html`Brass bell`, html`39.50`],
];
