/** A page of the parts for React, which parts.test.ts opens in a browser and steers. */

import { connect } from '@parley/client';
import { ParleyProvider } from '@parley/client/react';
import { Bell, Composer, Inbox, Thread, Timeline } from '@parley/client/react/parts';
import { createElement as h, StrictMode, useState } from 'react';
import { createRoot, hydrateRoot } from 'react-dom/client';

const { url, account, token } = Object.fromEntries(new URLSearchParams(location.search));
const client = connect({ url, account, token, mostWaitMs: 500 });

function Chat({ id, message, ...look }) {
  const [editing, setEditing] = useState(null);
  const [threadId, setThreadId] = useState(null);
  return h(
    'div',
    { className: 'chat' },
    h(
      'main',
      null,
      h(Timeline, { conversationId: id, message, onEdit: setEditing, onThread: setThreadId, ...look }),
      h(Composer, { conversationId: id, editing, onEdited: () => setEditing(null), ...look }),
    ),
    threadId !== null &&
      h(Thread, { conversationId: id, threadId, onClose: () => setThreadId(null), ...look }),
  );
}

function Lists() {
  const [opened, setOpened] = useState(null);
  return h(
    'div',
    null,
    h('header', null, h(Bell, { onOpen: ({ title }) => setOpened(title) })),
    h(Inbox, { selected: opened, onSelect: setOpened }),
    h('output', null, opened),
  );
}

/** Messages by their texts, as often as they were drawn. */
const drawn = [];

function drawText({ body }) {
  drawn.push(body);
  return h('p', null, body);
}

function Counted({ id }) {
  return h('div', { className: 'chat' }, h(Timeline, { conversationId: id, renderText: drawText }));
}

/** What a server has rendered (parts.test.ts). */
function Rendered({ id, messages, inbox, ...look }) {
  return h(
    'div',
    { className: 'chat' },
    h(Inbox, { onSelect: () => {}, initial: inbox, ...look }),
    h('main', null, h(Timeline, { conversationId: id, initial: messages, ...look })),
  );
}

const PARTS = { Chat, Counted, Lists, Rendered };
const page = (name, properties) =>
  h(StrictMode, null, h(ParleyProvider, { client }, h(PARTS[name], { key: name, ...properties })));
const place = document.querySelector('main');
const initial = document.querySelector('#initial');
const root =
  initial === null
    ? createRoot(place)
    : hydrateRoot(place, page('Rendered', JSON.parse(initial.textContent)));
Object.assign(globalThis, { drawn, show: (name, properties) => root.render(page(name, properties)) });
