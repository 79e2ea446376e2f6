import { CURRENT_VERSION } from '../../../../contract/protocol/versions.ts';
import { html } from '../html.ts';
import { example, type Guide } from './guide.ts';

export const GETTING_STARTED: Guide = {
  slug: 'getting-started',
  title: 'Getting started',
  summary: 'An account, a key, a message over REST, and a socket that sees it.',
  main: html`<p>Parley stores the conversations of your product and delivers their messages. Your backend calls REST with an API key;
browsers and apps hold a socket with a token of their user. <code>npm start</code> in a checkout runs a server with a demo account; its ids
and keys are in <code>.data/demo.json</code>. On a server of your own, the operator makes an account and a key with two commands
(<code>npm run -s admin -- account create</code>, <code>… key create</code>).</p>
<h2 id="headers">Three headers</h2>
<p>Every request names the version of the API, the account and the credential. The examples take them from the environment:
<code>PARLEY_URL</code> is the address of the server, such as <code>http://127.0.0.1:8080</code>.</p>
${example(
  'sh',
  `
call() {
  curl -sS --fail-with-body -X "$1" "$PARLEY_URL$2" \\
    -H "Authorization: Bearer $PARLEY_KEY" -H "Service-Account: $PARLEY_ACCOUNT" \\
    -H 'Service-Version: ${CURRENT_VERSION}' -H 'Content-Type: application/json' "\${@:3}"
}
call GET /v1/account`,
)}
<h2 id="people">People and a conversation</h2>
<p>A user of Parley stands for a user of your product. Users have a role, which grants permissions; each account begins with the
roles admin, member, viewer, agent, scanner and sales_rep. Their ids differ between accounts: look a role up by its name, which is
unique in the account (<code>q</code> also finds names that contain it). Several roles have the same <code>type</code>.</p>
${example(
  'sh',
  `
role=$(call GET '/v1/roles?q=member' | grep -o '{[^{}]*"name":"member"[^{}]*}' | grep -o 'rol_[A-Za-z0-9_]*')
grace=$(call POST /v1/users -d '{"name":"Grace","email":"grace@harbor.example","role_id":"'$role'"}' |
  grep -o 'act_[A-Za-z0-9_]*' | head -1)
room=$(call POST /v1/messaging/conversations \\
  -d '{"type":"group","title":"Harbor","participants":[{"type":"user","actor_id":"'$grace'"}]}' |
  grep -o 'cnv_[A-Za-z0-9_]*' | head -1)`,
)}
<h2 id="message">A message</h2>
<p><code>client_message_id</code> is your own key for the message: sent again with the same key, the first message is the answer. A
request whose answer was lost is therefore simply repeated.</p>
${example(
  'sh',
  `
call POST /v1/messaging/conversations/$room/messages \\
  -d '{"body":"The crane is free.","client_message_id":"crane-1"}'
call GET /v1/messaging/conversations/$room/messages`,
)}
<p>Other changes are made safe to repeat by an <code>Idempotency-Key</code>: <code>call POST … -H 'Idempotency-Key: anything-unique'</code>.
Errors have one form, and a <code>code</code> to branch on (<a href="/docs/api/errors">all of them</a>).</p>
<h2 id="live">Live</h2>
<p>The SDK holds the socket. It has no dependencies and needs no build: a page imports it from the server, Node from
<code>src/contract/client/index.ts</code> of a checkout.</p>
${example(
  'js',
  `
import { connect } from 'https://chat.example.com/v1/client.js';

const client = connect({ url: 'https://chat.example.com', account: 'acc_…', token: 'parley_…' });
const arrived = new Promise((resolve) => {
  client.subscribe('cnv_…', { onMessage: ({ sequence, body }) => resolve(\`\${sequence}: \${body}\`) });
});
// A subscription begins with what is sent from now on: it has to be there first.
await new Promise((resolve) => client.on('state', (state) => state === 'live' && resolve()));
await client.send('cnv_…', 'The crane is free.');
console.log(await arrived);
client.close();`,
)}
<p>A page never gets an API key: <a href="/docs/guides/tokens-for-pages">Tokens for pages</a> says what it gets.
<a href="/docs/guides/chat-client">A chat client</a> goes on from here.</p>`,
};
