import { html } from '../html.ts';
import { CALL, example, type Guide } from './guide.ts';

export const CASES: Guide = {
  slug: 'cases',
  title: 'Cases with customers',
  summary: 'A customer, notes of the team, drafts and their approval, and mail.',
  main: html`<p>A case is a conversation with a customer: a <code>group</code> whose
<code>audience</code> is <code>customer</code>. The team writes replies, which the customer reads
under the name Customer Service, and notes, which the customer never sees. A case has a lane
(<code>workflow_status</code>) that follows what happens in it, and may have an assignee.</p>
<h2 id="open">Open a case</h2>
<p>The customer is a participant with a name, and an address where mail should reach it. It is no
user: it has no role, and signs in nowhere.</p>
${example(
  'js',
  `
${CALL}
const { data: users } = await call('GET', '/v1/users?limit=2');
const supportCase = await call('POST', '/v1/messaging/conversations?include[]=participants', {
  type: 'group',
  audience: 'customer',
  title: 'Where is my parcel?',
  participants: [
    ...users.map(({ id }) => ({ type: 'user', actor_id: id })),
    { type: 'customer', name: 'Mara Jansen', email: 'mara@example.net' },
  ],
});
const path = \`/v1/messaging/conversations/\${supportCase.id}\`;`,
)}
<p>A customer is known by its address, letter case ignored: the same address in the next case is the
same customer. <code>actor_id</code> names it too.</p>
<h2 id="customer">Let the customer write</h2>
<p>Your backend asks for a token of this one participant and passes it to the customer's page. It
reads this case and writes in it, over REST and over a socket, and can do nothing else. What the
customer writes moves the case to <code>open</code>, also from <code>resolved</code>.</p>
${example(
  'js',
  `
import { connect } from 'https://chat.example.com/v1/client.js';

const customer = supportCase.participants.find(({ type }) => type === 'customer');
const getToken = async () => {
  const { access_token } = await call('POST', \`\${path}/actions/customer-token\`, { participant_id: customer.id });
  return access_token;
};
const page = connect({ url: 'https://chat.example.com', account: 'acc_…', getToken });
const seen = page.conversation(supportCase.id);
await seen.opened;
await seen.send('I have been waiting for a week.');`,
)}
<h2 id="write">A note or a reply</h2>
<p>A message of the team is a note unless it says otherwise: forgetting <code>audience</code> tells
the customer nothing. A reply has <code>"audience": "customer"</code>; its <code>visibility</code>
is <code>external</code>, its <code>sender</code> Customer Service, and its <code>author</code>, for
the team alone, the person who wrote it.</p>
${example(
  'js',
  `
const say = (body) => call('POST', \`\${path}/messages\`, { client_message_id: crypto.randomUUID(), ...body });
await say({ body: 'The carrier has lost it. I send another.' });
const { visibility } = await say({ body: 'A new parcel leaves today.', audience: 'customer' });
console.log(visibility); // external`,
)}
<h2 id="assign">Assign it, and close it</h2>
<p>The lane moves by itself where customers write and replies are sent. By hand a case is
<code>open</code>, <code>waiting_internal</code>, <code>waiting_external</code> or
<code>resolved</code>. The list of conversations filters by both.</p>
${example(
  'js',
  `
const [someone] = supportCase.participants.filter(({ type }) => type === 'user');
await call('PATCH', path, { assignee_id: someone.actor.id, workflow_status: 'waiting_internal' });
const { data: mine } = await call('GET', \`/v1/messaging/conversations?assignee_id=\${someone.actor.id}&workflow_status=waiting_internal\`);
render(mine);`,
)}
<h2 id="draft">Propose a reply, and approve it</h2>
<p>A draft is a reply that waits for a person. Agents write drafts unless their role has
<code>messaging:send_external</code>, and people may too. While one is open the case is in
<code>needs_approval</code>, and those that can decide have a notification
<code>draft.proposed</code>. A newer draft of the same agent supersedes the one before.</p>
${example(
  'js',
  `
const draft = await say({ mode: 'draft', channel: 'message', body: 'It arrives on Friday.' });
const approved = await call('POST', \`/v1/messaging/messages/\${draft.id}/actions/approve\`, {});
console.log(draft.status, approved.status); // draft sent
await call('PATCH', path, { workflow_status: 'resolved' });
page.close();`,
)}
<h2 id="mail">By mail</h2>
<p>An inbox is an address of yours. A mail that comes to it opens a case, with its subject as the
title, or enters the case that it answers. A case can begin with <code>inbox_id</code> too. In such
a case replies leave as mail, unless they say <code>"channel": "message"</code>, and may have a
<code>subject</code> and <code>cc</code>; <code>email_status</code> says what became of each.</p>
${example(
  'js',
  `
const inbox = await call('POST', '/v1/messaging/inboxes', {
  name: 'Harbor support',
  address: \`help-\${Date.now()}@example.com\`,
});
const byMail = await call('POST', '/v1/messaging/conversations', {
  type: 'group',
  audience: 'customer',
  title: 'Your order 2214',
  inbox_id: inbox.id,
  participants: [
    { type: 'user', actor_id: users[0].id },
    { type: 'customer', name: 'Mara Jansen', email: 'mara@example.net' },
  ],
});
const reply = await call('POST', \`/v1/messaging/conversations/\${byMail.id}/messages\`, {
  client_message_id: crypto.randomUUID(),
  audience: 'customer',
  subject: 'Your order 2214',
  body: 'Your order has left.',
});
console.log(reply.channel, reply.email_status); // email queued`,
)}
<p>How mail reaches the server, and which DNS records it needs, is in
<code>docs/operations.md</code> of the repository. A page of your own that shows cases is the <a
href="/docs/guides/chat-client">chat client</a> with two kinds of messages: <code>/demo</code> of a
local server paints notes yellow.</p>`,
};
