import { CURRENT_VERSION } from '../../../../contract/protocol/versions.ts';
import { html } from '../html.ts';
import { example, type Guide } from './guide.ts';

export const NOTIFICATIONS: Guide = {
  slug: 'notifications',
  title: 'Notifications',
  summary: 'A feed with a badge, marking, settings, web push and mail.',
  main: html`<p>Each user has a feed: new messages, mentions, being added to a conversation, ends of agent runs, and what your own applications send.
Every entry is stored; sockets, web push and digests by mail are ways to reach the person beside it.</p>
<h2 id="feed">The feed and its badge</h2>
<p>The socket brings each change. For the number on the badge ask once after a burst: reading a conversation marks its notifications,
those too that the page has not loaded.</p>
${example(
  'js',
  `
import { connect } from 'https://chat.example.com/v1/client.js';

const getToken = async () => (await fetch('/chat-token', { method: 'POST' })).text();
const client = connect({ url: 'https://chat.example.com', account: 'acc_…', version: '${CURRENT_VERSION}', getToken });
const { data } = await client.fetch('/v1/messaging/notifications?limit=20&include[]=sender');
render({ feed: data.map(({ title, body, status }) => ({ title, body, status })) });

let counting;
const recount = () => {
  counting ??= setTimeout(() => {
    counting = undefined;
    client.fetch('/v1/messaging/notifications/summary').then(({ unread }) => render({ badge: unread }), console.error);
  }, 200);
};
for (const event of ['notification.created', 'notification.updated', 'stale']) client.on(event, recount);
recount();`,
)}
<h2 id="mark">Seen, read, dismissed</h2>
<p><code>see</code> is for what was shown in the list, <code>read</code> for what was opened, <code>dismiss</code> for what was swept away. All of them at
once: <code>mark-all</code>.</p>
${example(
  'js',
  `
for (const { id } of data) await client.fetch(\`/v1/messaging/notifications/\${id}/actions/read\`, { method: 'POST', body: {} });
await client.fetch('/v1/messaging/notifications/actions/mark-all', { method: 'POST', body: { status: 'seen' } });`,
)}
<h2 id="settings">What reaches whom, and when</h2>
<p>A user turns ways on and off for each category, sets times of silence, and how often a digest comes by mail. Muting one conversation
is a matter of its participant: mentions still notify.</p>
${example(
  'js',
  `
const settings = await client.fetch('/v1/messaging/notification-settings');
console.log(settings);
client.close();`,
)}
<h2 id="push">Web push</h2>
<p>A page registers its browser with <code>POST /v1/messaging/push-subscriptions</code>, under the key of
<code>GET …/push-subscriptions/key</code>, and serves a worker of one line:
<code>importScripts('https://chat.example.com/v1/push-worker.js')</code>. The worker shows each notification once, not while a window of
your page has the focus, and sets the badge.</p>
<h2 id="own">Your own notifications</h2>
<p>An application sends one with <code>POST /v1/messaging/notifications</code>, to users, by category and priority.</p>`,
};
