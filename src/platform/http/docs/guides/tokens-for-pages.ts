import { CURRENT_VERSION } from '../../../../contract/protocol/versions.ts';
import { html } from '../html.ts';
import { example, type Guide } from './guide.ts';

export const TOKENS_FOR_PAGES: Guide = {
  slug: 'tokens-for-pages',
  title: 'Tokens for pages',
  summary: 'How a browser acts as its user, without an API key in it.',
  main: html`<p>An API key opens the whole account, so it stays in your backend. A page gets an access token of its user: a JWT that lasts 15
minutes, from <code>POST /v1/auth/tokens</code>, which takes the permission <code>tokens:create</code>. You decide who the user is, by the
session that your product has already.</p>
<h2 id="backend">The backend</h2>
${example(
  'js',
  `
import { createServer } from 'node:http';

const server = createServer(async (request, response) => {
  const user = await signedInUser(request); // by your own session
  if (request.method !== 'POST' || user === undefined) return response.writeHead(401).end();
  const answer = await fetch('https://chat.example.com/v1/auth/tokens', {
    method: 'POST',
    headers: {
      Authorization: 'Bearer parley_…', // from your secrets
      'Service-Version': '${CURRENT_VERSION}',
      'Service-Account': 'acc_…',
      'Content-Type': 'application/json',
    },
    body: JSON.stringify({ user_id: user.parleyId }),
  });
  const { access_token } = await answer.json();
  response.writeHead(answer.status, { 'Content-Type': 'text/plain', 'Cache-Control': 'no-store' }).end(access_token);
});
await new Promise((resolve) => server.listen(3000, resolve));`,
)}
<p>Protect the endpoint like any other that acts as the signed-in user: <code>POST</code>, with your protection against forged requests.
The answer also has a <code>refresh_token</code>, which is for apps that hold a session by themselves; a page asks your backend instead, so that signing out of
your product ends both.</p>
<h2 id="page">The page</h2>
<p><code>getToken</code> is called before the first connection and whenever a token is about to expire. If it throws, the client reports an
<code>error</code> with the reason <code>token_source</code> and tries again.</p>
${example(
  'js',
  `
import { connect } from 'https://chat.example.com/v1/client.js';

const client = connect({
  url: 'https://chat.example.com',
  account: 'acc_…',
  getToken: async () => {
    const answer = await fetch('http://localhost:3000/chat-token', { method: 'POST' });
    if (!answer.ok) throw new Error('Sign in again.');
    return answer.text();
  },
});
await new Promise((resolve) => client.on('state', (state) => state === 'live' && resolve()));
console.log(client.actor.name);
client.close();
server.close();`,
)}
<h2 id="origins">Pages of another origin</h2>
<p>A page may call the server where its origin stands in <code>PARLEY_ALLOWED_ORIGINS</code>, exactly: scheme, host and port. Pages of the
server's own host need nothing.</p>
<h2 id="customers">Customers</h2>
<p>The outside person of a case has no user. <code>POST /v1/messaging/conversations/:id/actions/customer-token</code> with the id of its
participant answers a token that reads and writes this customer's cases and nothing else.</p>
<h2 id="end">The end of access</h2>
<p>Deactivating a user, changing its role, and ending its sessions (<code>/v1/users/:id/sessions</code>) take effect within a second, on open
sockets too.</p>`,
};
