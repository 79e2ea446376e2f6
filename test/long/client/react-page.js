/** A page of components over the hooks, which react.test.ts opens in a browser and steers. */

import { connect } from '@parley/client';
import { ParleyProvider } from '@parley/client/react';
import { App, most, renders, resetCounts } from '@parley/client/test/react-parts.ts';
import { createElement as h, StrictMode } from 'react';
import { createRoot, hydrateRoot } from 'react-dom/client';

/** The requests over the sockets of this page, as `type conversation`. */
const requests = [];

class NotingSocket extends WebSocket {
  send(data) {
    const { type, conversation_id: id = '' } = JSON.parse(data);
    requests.push(`${type} ${id}`);
    super.send(data);
  }
}

const { url, account, token, rendered } = Object.fromEntries(new URLSearchParams(location.search));
const client = connect({ url, account, token, mostWaitMs: 500, WebSocket: NotingSocket });
const place = document.querySelector('main');
const page = (shown) => h(StrictMode, null, h(ParleyProvider, { client }, h(App, { shown })));
const root = rendered === undefined ? createRoot(place) : hydrateRoot(place, page(JSON.parse(rendered)));

/** Keeps the browser from doing anything else for a part of each second. */
function beBusy() {
  setInterval(() => {
    const end = performance.now() + 300;
    while (performance.now() < end);
  }, 600);
}

Object.assign(globalThis, {
  beBusy,
  client,
  requests,
  renders,
  most,
  resetCounts,
  show: (...shown) => root.render(page(shown)),
  textOf: (id) => Array.from(document.getElementById(id)?.children ?? [], (li) => li.textContent),
});
