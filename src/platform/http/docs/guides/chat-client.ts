import { CURRENT_VERSION } from '../../../../contract/protocol/versions.ts';
import { html } from '../html.ts';
import { example, type Guide } from './guide.ts';

export const CHAT_CLIENT: Guide = {
  slug: 'chat-client',
  title: 'A chat client',
  summary: 'A list of conversations, one that is open, and what is shown of the others.',
  main: html`<p>This is a whole client without its looks. <code>/demo</code> of a local server is the same with them; its files in
<code>src/edge/console/assets/</code> are meant for reading. Here <code>render</code> is whatever draws your page.</p>
<h2 id="connect">Connect</h2>
<p><code>getToken</code> asks your own backend (<a href="/docs/guides/tokens-for-pages">Tokens for pages</a>). The client reconnects by
itself, on any node of the server, and misses nothing.</p>
${example(
  'js',
  `
import { connect } from 'https://chat.example.com/v1/client.js';

const getToken = async () => (await fetch('/chat-token', { method: 'POST' })).text();
const client = connect({
  url: 'https://chat.example.com',
  account: 'acc_…',
  version: '${CURRENT_VERSION}',
  getToken,
});
client.on('state', (state) => render({ state })); // connecting, catching_up, live, offline
client.on('error', ({ message, willRetry }) => render({ problem: willRetry ? undefined : message }));`,
)}
<h2 id="inbox">The list of conversations</h2>
<p>The list comes in pages, the conversation with the newest message first. A client shows the first page and asks for the next as the person
scrolls. <code>inbox.updated</code> brings the counts of the badge, once a second at most, and says that something has moved; <code>stale</code> says that the
own feed has a gap.</p>
${example(
  'js',
  `
async function showInbox() {
  const pages = client.conversations.list({ order: 'activity', include: ['last_message', 'participants'] });
  const { value: first } = await pages.next();
  render({ inbox: first.data.map(({ id, title, unread }) => ({ id, title, unread })) });
}
for (const event of ['inbox.updated', 'conversation.added', 'conversation.removed', 'stale']) {
  client.on(event, () => showInbox().catch(console.error));
}
client.on('inbox.updated', ({ unread }) => render({ badge: unread }));
await showInbox();
const { unread } = await client.conversations.summary();
render({ badge: unread });`,
)}
<h2 id="conversation">An open conversation</h2>
<p>The view holds the messages in order, with the ones that are being sent behind them. <code>key</code> names the same element from the
local echo on, so a list that is drawn by key does not flicker.</p>
${example(
  'js',
  `
const conversation = client.conversation('cnv_…');
conversation.on('change', () => {
  render({
    messages: conversation.messages.map(({ key, body, delivery, sender }) => ({ key, body, delivery, name: sender?.name })),
    typing: conversation.typingActors,
  });
});
await conversation.opened;
if (conversation.hasOlder) await conversation.loadOlder(); // when the person scrolls to the top`,
)}
<h2 id="find">Finding</h2>
<p>A search finds messages that the person may read at that moment, with the places of the words. A new conversation begins with somebody
from <code>people</code>.</p>
${example(
  'js',
  `
for await (const { data } of client.search('crane', { include: ['sender'] })) {
  render({ hits: data.map(({ message, highlights }) => ({ from: message.sender?.name, highlights })) });
  break; // one page is enough for now
}
const { value: people } = await client.people({ q: 'Grace' }).next();
render({ people: people.data.map(({ name, presence }) => ({ name, presence })) });`,
)}
<h2 id="write">Writing</h2>
<p><code>send</code> shows the message at once and repeats the request until it is answered. What was definitely refused stays as
<code>failed</code> with its error: offer <code>conversation.retry(key)</code> and <code>conversation.discard(key)</code>.</p>
${example(
  'js',
  `
conversation.typing(); // at each keystroke
const { id } = await conversation.send('Ahoy!');
await conversation.react(id, '👍'); // unreact takes it back`,
)}
<h2 id="read">Reading</h2>
<p>Mark what the person has seen: when the conversation is opened, and at each message while the page is visible. That also marks its
notifications, on every device. The team sees how far the others have read in <code>conversation.reads</code>.</p>
${example(
  'js',
  `
await conversation.markRead();
await client.request('presence', { status: 'online' });`,
)}
<h2 id="end">Leaving</h2>
<p>A view that is no longer shown is closed; messages that are still being sent are sent nevertheless. <code>end</code> says that the person
may no longer read the conversation: its messages are dropped.</p>
${example(
  'js',
  `
conversation.on('end', () => render({ messages: [] }));
conversation.close();
client.close(); // at sign-out`,
)}`,
};
