import { html } from '../html.ts';
import { CALL, example, type Guide } from './guide.ts';

export const AGENT: Guide = {
  slug: 'agent',
  title: 'An agent',
  summary: 'An agent that answers in a conversation, and asks before it acts.',
  main: html`<p>An agent is a member of conversations like a person. It has instructions, tools, and a role that bounds what it may do: it
can do nothing that its role does not permit, and no caller can give it more than the caller has.</p>
<h2 id="create">Create it</h2>
<p>The role of the type <code>agent</code> exists in each account. <code>trigger_type</code> <code>chat</code> starts a run by a message; others are
<code>scheduled</code>, <code>event</code> and <code>manual</code> (<a href="/docs/agents#triggers">what starts a run</a>).</p>
${example(
  'js',
  `
${CALL}
const { data: roles } = await call('GET', '/v1/roles');
const agent = await call('POST', '/v1/ai/agents', {
  name: 'Harbor pilot',
  slug: 'pilot',
  category_code: 'support',
  trigger_type: 'chat',
  role_id: roles.find(({ type }) => type === 'agent').id,
  config: {
    system_prompt: 'You help the harbor team. Answer briefly.',
    tier: 'balanced',
    tools: [{ tool: 'create_artifact', require_review: true }],
  },
});`,
)}
<h2 id="join">Bring it into a conversation</h2>
<p><code>agent_trigger_policy</code> decides when it answers: when it is mentioned (<code>@pilot</code>), at <code>keyword</code>s, or
<code>always</code>. On a customer case it writes drafts, which a person approves, unless its role has
<code>messaging:send_external</code>.</p>
${example(
  'js',
  `
await call('POST', '/v1/messaging/conversations/cnv_…/participants', {
  type: 'agent',
  actor_id: agent.id,
  agent_trigger_policy: 'mention',
});`,
)}
<h2 id="answer">Ask it</h2>
<p>The answer is one message that grows: the view of the SDK shows the text so far. The run of an agent is followed with
<code>agent_run.updated</code>, which goes to the person who started it.</p>
${example(
  'js',
  `
import { connect } from 'https://chat.example.com/v1/client.js';

const getToken = async () => (await fetch('/chat-token', { method: 'POST' })).text();
const client = connect({ url: 'https://chat.example.com', account: 'acc_…', getToken });
const conversation = client.conversation('cnv_…');
await conversation.opened;
const waiting = new Promise((resolve) => {
  client.on('agent_run.updated', ({ id, status }) => status === 'awaiting_approval' && resolve(id));
});
conversation.send('@pilot Create a summary.');`,
)}
<h2 id="approve">Approve what it wants to do</h2>
<p>A call of a tool that needs review pauses the run. A person sees its exact arguments, and approves or rejects it once. To approve a call, a
person needs the permissions that the call needs.</p>
${example(
  'js',
  `
const run = await client.fetch(\`/v1/ai/runs/\${await waiting}?include[]=actions\`);
const decisions = run.actions
  .filter(({ status }) => status === 'pending_review')
  .map(({ id }) => ({ action_id: id, approve: true }));
await client.fetch(\`/v1/ai/runs/\${run.id}/actions/continue\`, { method: 'POST', body: { decisions } });
client.close();`,
)}
<p><a href="/docs/agents">Agents</a> has the tools, limits and models; <a href="/docs/states#agent_run.status">States</a> what becomes of a run.</p>`,
};
