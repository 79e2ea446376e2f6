import { CURRENT_VERSION } from '../../../../contract/protocol/versions.ts';
import { code, html, table } from '../html.ts';
import { example, type Guide } from './guide.ts';

const row = ([member = '', does = '']: readonly string[]) => [code(member), html`${does}`];

export const SDK: Guide = {
  slug: 'sdk',
  title: 'The SDK',
  summary: 'What the client for browsers and Node has, and what it promises.',
  main: html`<p>The SDK has no dependencies. A page imports <code>/v1/client.js</code> of its server, with or without a build; TypeScript and bundlers take
<code>src/contract/client/index.ts</code>, which has the types. It connects, resumes on any node after a break, moves on before a node stops, and delivers each
message once and in order.</p>
${example(
  'js',
  `
import { connect } from 'https://chat.example.com/v1/client.js';

const client = connect({
  url: 'https://chat.example.com',
  account: 'acc_…',
  version: '${CURRENT_VERSION}', // the default: the current stable version
  getToken: async () => (await fetch('/chat-token', { method: 'POST' })).text(),
});`,
)}
<h2 id="client">The client</h2>
${table(
  ['Member', 'What it does'],
  [
    ['state, on("state")', 'connecting, catching_up, live or offline'],
    ['on("error")', 'why there is no connection, and whether the client goes on trying'],
    ['on("notification.created"), …', 'every event of the own feed; "stale" where it has a gap'],
    ['actor', 'the caller, once connected'],
    ['conversations.list(filter), get(id), create(body)', 'pages of conversations; one; a new one'],
    ['conversations.summary(), on("inbox.updated")', 'counts over all conversations'],
    ['search(words, filter)', 'pages of messages, or of conversations, that have the words'],
    ['people({ q }), me()', 'whom the caller may write to; the caller, with its permissions'],
    ['conversation(id)', 'a conversation for showing it'],
    ['send(id, body)', 'a message, repeated until it is answered, sent once'],
    ['upload(file, { onProgress })', 'an attachment'],
    ['fetch(path, { method, body })', 'any request of the API, with credential and retry'],
    ['subscribe(id, handlers)', 'the bare stream of a conversation'],
    ['request("presence", { status })', 'presence, typing and read positions over the socket'],
    ['close()', 'ends everything'],
  ].map(row),
)}
<h2 id="conversation">A conversation</h2>
${table(
  ['Member', 'What it does'],
  [
    ['messages', 'those of the server in order, then local echoes; the same array until something changes'],
    ['opened', 'resolves when the newest messages are there'],
    ['loadOlder(), hasOlder', 'one page more'],
    ['send(body), retry(key), discard(key)', 'shown at once, sent once, in the order of the calls'],
    ['typing(), typingActors', 'at each keystroke; the others that type'],
    ['markRead(), markUnread(sequence), reads, presence', 'read positions and presence of the team'],
    ['react(messageId, emoji), unreact(…)', "one's own reactions; each message has those of all"],
    ['members(filter)', 'pages of members, former ones too if asked for'],
    ['upload(file)', 'as that of the client'],
    ['on("change"), on("event"), on("end")', 'something to draw; another event; no longer readable'],
    ['close()', 'ends the subscription'],
  ].map(row),
)}
<h2 id="errors">Errors</h2>
<p>Requests reject with <code>RestRefused</code>, which has the <code>status</code> and the <code>error</code> of the server; what may pass was tried again before.
Branch on <code>error.code</code>.</p>
${example(
  'js',
  `
import { RestRefused } from 'https://chat.example.com/v1/client.js';

try {
  await client.fetch('/v1/messaging/conversations/cnv_none');
} catch (error) {
  if (!(error instanceof RestRefused)) throw error;
  console.log(error.status, error.error.code); // 404 resource_not_found
}`,
)}
<h2 id="pages">Lists</h2>
<p>A list yields its pages. Nothing is requested before it is asked for.</p>
${example(
  'js',
  `
for await (const { data } of client.conversations.list({ type: 'group', limit: 50 })) {
  for (const { id, title } of data) console.log(id, title);
}`,
)}
<h2 id="react">With React</h2>
<p><code>messages</code> is a snapshot that changes with <code>change</code>, which is what <code>useSyncExternalStore</code> asks for.</p>
${example(
  'js',
  `
function useMessages(conversation) {
  return useSyncExternalStore((changed) => conversation.on('change', changed), () => conversation.messages);
}
client.close();`,
)}`,
};
