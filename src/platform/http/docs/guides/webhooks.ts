import { html } from '../html.ts';
import { CALL, example, type Guide } from './guide.ts';

export const WEBHOOKS: Guide = {
  slug: 'webhooks',
  title: 'Webhooks',
  summary: 'Events sent to a server of yours, verified, and proven to be complete.',
  main: html`<p>A webhook sends the events of an account to a URL by POST, signed as Standard Webhooks
(<code>standardwebhooks.com</code>) describes. Each event is sent at least once, and a receiver can
ask what it should have.</p>
<h2 id="receive">Receive</h2>
<p>Verify the bytes as they came, before they are parsed. With <code>npm install
standardwebhooks</code> it is one call, which throws where the signature is wrong or the time is
more than five minutes off. Answer 2xx within 15 seconds, and work afterwards: whatever else is a
failure.</p>
${example(
  'js',
  `
import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

let secret; // from your secrets
const seen = new Map(); // a table of yours: by webhook-id
const receiver = createServer(async (request, response) => {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const body = Buffer.concat(pieces).toString();
  try {
    const event = new Webhook(secret).verify(body, request.headers);
    seen.set(request.headers['webhook-id'], event);
    response.writeHead(204).end();
  } catch {
    response.writeHead(400).end();
  }
}).listen(4000);`,
)}
<h2 id="create">Create it</h2>
<p>An admin makes it, or a key with an admin role. <code>event_types</code> names types, whole areas
(<code>message.*</code>), or everything (<code>*</code>). The secret is shown this once.
<code>actions/test</code> sends <code>webhook.test</code> at once.</p>
${example(
  'js',
  `
${CALL}
const webhook = await call('POST', '/v1/webhooks', {
  url: 'https://hooks.example.com/parley',
  event_types: ['message.*', 'conversation.created'],
});
secret = webhook.secret;
await call('POST', \`/v1/webhooks/\${webhook.id}/actions/test\`, {});`,
)}
<p>The URL is https and leads to a public address. To try it on your own machine the server must be
started with <code>PARLEY_FETCH_ALLOW=127.0.0.1</code>: then <code>http://127.0.0.1:4000</code> is
allowed too.</p>
<h2 id="event">What comes</h2>
<p><code>type</code>, <code>timestamp</code>, and <code>data</code>, which is what a socket of the
team gets, in the form of the version that the webhook was made with. Events of a conversation have
its id, and messages their <code>sequence</code>. Deliveries run side by side: order by
<code>sequence</code>, and skip a <code>webhook-id</code> that you have handled.</p>
${example(
  'js',
  `
const sent = await call('POST', '/v1/messaging/conversations/cnv_…/messages', {
  client_message_id: crypto.randomUUID(),
  body: 'Bollard 7 is loose.',
});
const arrived = (id) => [...seen.values()].find(({ type, data }) => type === 'message.created' && data.id === id);
while (arrived(sent.id) === undefined) await new Promise((resolve) => setTimeout(resolve, 50));
const { type, conversation_id, sequence, data } = arrived(sent.id);
console.log(type, conversation_id, sequence, data.body);`,
)}
<h2 id="by-hand">Verify without the library</h2>
<p>The signature is an HMAC over id, time and body, with the secret behind <code>whsec_</code> as
the key. After a rotation the header has two, for a day: one of them must be right. Compare in
constant time, and refuse what is older than five minutes.</p>
${example(
  'js',
  `
import { createHmac, timingSafeEqual } from 'node:crypto';

const isGenuine = (headers, body, secret, now = Date.now()) => {
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signatures } = headers;
  if (Math.abs(now / 1000 - Number(time)) > 300) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = createHmac('sha256', key).update(\`\${id}.\${time}.\${body}\`).digest();
  return signatures.split(' ').some((one) => {
    const given = Buffer.from(one.replace(/^v1,/, ''), 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
};
// The signature of the library is the same.
const now = new Date();
const headers = {
  'webhook-id': 'evt_1',
  'webhook-timestamp': String(Math.floor(now / 1000)),
  'webhook-signature': new Webhook(secret).sign('evt_1', now, '{}'),
};
if (!isGenuine(headers, '{}', secret) || isGenuine(headers, '{"forged":true}', secret)) throw new Error('not verified');`,
)}
<h2 id="retries">When your server is away</h2>
<p>What failed is tried again after 5 s, 5 min, 30 min, 2 h, 5 h and twice 10 h. Then the delivery
is <code>failed</code>, and an admin can send it again. After five days without a success, or a 410,
the webhook is disabled, its admins are notified, and <code>PATCH</code> with <code>"status":
"enabled"</code> continues.</p>
${example(
  'js',
  `
const { data: failed } = await call('GET', \`/v1/webhooks/\${webhook.id}/deliveries?status=failed\`);
for (const { id } of failed) await call('POST', \`/v1/webhooks/\${webhook.id}/deliveries/\${id}/actions/redeliver\`, {});`,
)}
<h2 id="complete">Is everything here?</h2>
<p><code>completeness</code> says for each conversation through which number everything was
delivered. Keep the numbers that you got: what you lack up to there was not for this webhook, and
what you lack above is still on its way, or failed. <code>replay</code> sends everything since a
time again, with the same <code>webhook-id</code>s.</p>
${example(
  'js',
  `
const { data: proofs } = await call('GET', \`/v1/webhooks/\${webhook.id}/completeness\`);
for (const { conversation_id, through_sequence, head } of proofs) console.log(conversation_id, through_sequence, head);
await call('POST', \`/v1/webhooks/\${webhook.id}/actions/replay\`, { since: new Date(Date.now() - 3_600_000).toISOString() });
await call('DELETE', \`/v1/webhooks/\${webhook.id}\`);
receiver.close();`,
)}
<p>The <a href="/docs">API reference</a> has every field, <code>docs/contract.md</code> of the
repository every rule.</p>`,
};
