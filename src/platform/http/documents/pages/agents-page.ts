import { TRIGGER_EVENTS, type TriggerEventName } from '../../../../contract/protocol/event-areas.ts';
import { AGENT_LIMITS } from '../../../../contract/protocol/resources/agent-definition.ts';
import { RUN_LIMITS } from '../../../../contract/protocol/resources/agent-run.ts';
import { BUILT_IN_TOOLS, toolSlugOf } from '../../../../contract/protocol/resources/available-tool.ts';
import { APPROVAL_MS } from '../../../../contract/protocol/states/agent-run-states.ts';
import type { Route } from '../../pipeline/route.ts';
import type { Document } from '../documents.ts';
import { code, html, table } from './html.ts';
import { pageOf } from './page.ts';

/** Triggers of agents, the limits of their runs, and the controls for people. */
export function agentsPage(routes: readonly Route[]): Document {
  return pageOf('agents', {
    main: html`<h1>Agents</h1>
<p>An agent acts as an actor of its own, with the permissions of its role as it stands at each call. One without a role
fails its runs at once; an inactive one is not started. Nothing runs for an account without a subscription, nor speaks in a
conversation that is archived, or that the agent has left or may only read.</p>
<h2 id="triggers">What starts them</h2>
<p>Whatever its <code>trigger_type</code>, an agent can be started with <code>POST /v1/ai/agents/:id/runs</code>. A
<code>chat</code> agent is started by messages of the conversations that it is in, by its participant's
<code>agent_trigger_policy</code>, and answers there; on a customer case it composes a reply draft. A <code>scheduled</code>
one runs by its cron expression (what came of each time that it was due, <code>GET /v1/ai/agents/:id/occurrences</code> keeps
for 90 days), an <code>event</code> one by what its <code>event_filters</code> name: events that your applications raise with
<code>POST /v1/events</code>, such as <code>order.created</code>, and these of Parley:</p>
${table(
  ['Event', 'When'],
  TRIGGER_EVENTS.map((event) => [code(event), html`${EVENT_TEXTS[event]}`]),
)}
<p>What an application says of its event is the input of the run: the prompt declares it to be data, and not
instructions. Runs that start runs, by their messages, events, ends or calls, go on for ${RUN_LIMITS.depth} in a row, and until
about ${RUN_LIMITS.chain} go back to one.</p>
<h2 id="approvals">What waits for people</h2>
<p>A call of a tool that needs review pauses the run in <code>awaiting_approval</code>: tools attached with
<code>require_review</code>, those in <code>endpoint_tool_review</code>, and, whatever is said there, every built-in tool
that changes something, <code>create-agent</code> and <code>update-agent</code>.
<code>GET /v1/ai/runs/:id?include[]=actions</code> shows the exact arguments;
<code>POST /v1/ai/runs/:id/actions/continue</code> approves or rejects, once, by somebody who is permitted what the call
does. After ${APPROVAL_MS / 3_600_000} hours a call expires, and the run goes on without it. What becomes of runs and calls
stands with the <a href="/docs/states#agent_run.status">states</a>.</p>
<h2 id="tools">Tools</h2>
<p>Built-in tools are attached one by one under <code>tools</code>: ${BUILT_IN_TOOLS.map(code)}. Every endpoint below is a
tool too, granted by its slug in <code>endpoint_tool_slugs</code>, or all of them with <code>*</code>. The slug is the operation id of the
<a href="/docs">reference</a> with dashes; <code>x-tool-slug</code> has it in <a href="/v1/openapi.json">openapi.json</a>.</p>
${table(
  ['Slug', 'Endpoint', 'What it does'],
  routes.flatMap((route) => {
    const slug = toolSlugOf(route);
    return slug === undefined
      ? []
      : [[code(slug), code(`${route.method} ${route.path}`), html`${route.summary}`]];
  }),
)}
<h2 id="limits">Limits</h2>
${table(
  ['Of', 'At most'],
  LIMITS.map(([of, most]) => [html`${of}`, code(most.toLocaleString('en'))]),
)}`,
  });
}

const EVENT_TEXTS: Readonly<Record<TriggerEventName, string>> = {
  'message.created': 'A message was sent in a conversation of the account.',
  'conversation.created': 'A conversation was created.',
  'conversation.updated': 'Something about a conversation has changed: its title, lane or assignee, say.',
  'email.received': 'An e-mail came in and became a message of its case.',
  'agent_run.completed': 'Another agent has completed a run.',
};

const LIMITS: readonly (readonly [of: string, most: number])[] = [
  ['input of a run, in bytes of JSON', RUN_LIMITS.inputBytes],
  ['turns of the model in a run', RUN_LIMITS.steps],
  ['calls of tools in a turn', RUN_LIMITS.callsPerStep],
  ['what a run says, asks for and reads, in bytes of JSON', RUN_LIMITS.bytes],
  ['system prompt, in characters', AGENT_LIMITS.promptCharacters],
];
