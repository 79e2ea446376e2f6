/**
 * A trace continues from a request to the runs that it starts, and from these to models and other
 * agents.
 */

import { parseTraceparent } from '@parley/protocol/traceparent.ts';
import { pino } from 'pino';
import t from 'tap';
import { startTestApp } from '../support/app.ts';
import { ModelServer } from '../support/model-server.ts';
import { until } from '../support/until.ts';
import { accepted } from './bodies.ts';
import { Runs } from './runs.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const headers = { traceparent: `00-${TRACE}-${SPAN}-01` };

const lines: Record<string, unknown>[] = [];
const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) });
const models = await ModelServer.start(t);
const app = await startTestApp(t, models.env(), log);
const runs = new Runs(app);
const { demo, database } = app;

t.test('from a request to its run, the run’s calls, and the agents that these start', async (t) => {
  const { group } = demo.conversations;
  const second = await runs.agent({ name: 'Second', trigger_type: 'chat' });
  await join(group, second.id);
  const first = await runs.agent({ config: { endpoint_tool_slugs: ['send-message'] } });
  const role = await app.call<{ id: string }>('POST', '/v1/roles', {
    body: { name: 'Sender', permissions: ['messaging:create', 'messaging:read'] },
  });
  accepted(await app.call('PATCH', `/v1/ai/agents/${first.id}`, { body: { role_id: role.body.id } }));
  await join(group, first.id);
  const body = { body: 'Over to you.', mentions: [second.id], client_message_id: 'over' };
  models.reply({ calls: [{ name: 'send-message', arguments: { path: { id: group }, body } }] });
  models.otherwise(() => 'Done.');

  const run = await runs.trigger(first.id, { input: 'Ask the other one.' }, { headers });
  await runs.reached(run.id, 'completed');
  const started = await until(
    async () =>
      (await tracesOf()).find(
        ({ agent_id, completed_at }) => agent_id === second.id && completed_at !== null,
      ),
    { what: 'the run of the other agent' },
  );
  t.same(parseTraceparent(started.traceparent), { traceId: TRACE, spanId: SPAN, flags: 1 });

  const asked = models.requests.map(({ traceparent }) => parseTraceparent(traceparent)!);
  t.equal(asked.length, 3);
  for (const { traceId, flags } of asked) t.same([traceId, flags], [TRACE, 1]);
  t.equal(new Set([SPAN, ...asked.map(({ spanId }) => spanId)]).size, 4, 'each call is a span of its own');

  const line = lines.find(({ run_id }) => run_id === run.id);
  t.match(line, {
    msg: 'request completed',
    route: '/v1/messaging/conversations/:id/messages',
    status: 201,
    trace_id: TRACE,
    span_id: SPAN,
    actor_id: /^act_/,
  });
});

t.test('from a message to the runs that it starts', async (t) => {
  const agent = await runs.agent({ trigger_type: 'chat' });
  await join(demo.conversations.group, agent.id);
  const send = async (traced: boolean) => {
    const path = `/v1/messaging/conversations/${demo.conversations.group}/messages`;
    const body = { body: 'Hello.', mentions: [agent.id], client_message_id: `traced-${traced}` };
    const options = { body, ...(traced && { headers }) };
    const { id } = accepted(await app.call<{ id: string }>('POST', path, options), 201);
    return until(async () => (await tracesOf()).find(({ trigger_message_id }) => trigger_message_id === id), {
      what: 'the run',
    });
  };
  t.equal((await send(true)).traceparent, headers.traceparent);
  t.equal((await send(false)).traceparent, null);
});

async function join(conversationId: string, actorId: string): Promise<void> {
  const path = `/v1/messaging/conversations/${conversationId}/participants`;
  accepted(await app.call('POST', path, { body: { type: 'agent', actor_id: actorId } }), 201);
}

function tracesOf() {
  return database.kysely
    .selectFrom('agent_runs')
    .select(['agent_id', 'trigger_message_id', 'completed_at', 'traceparent'])
    .execute();
}
