/**
 * Endpoint tools on the routes of a whole server: agents get as far as their role, and no further.
 */

import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { AgentDefinition } from '@parley/protocol/resources/agent-definition.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import { compile } from '@parley/protocol/validation/validation.ts';
import t from 'tap';
import { Idempotency } from '../../src/api/access/idempotency.ts';
import type { Principal } from '../../src/api/access/principal.ts';
import { createRateLimits } from '../../src/api/access/rate-limit.ts';
import { InProcess } from '../../src/api/pipeline/in-process.ts';
import { createHttp } from '../../src/api/pipeline/pipeline.ts';
import { defineRoute, type Route } from '../../src/api/pipeline/route.ts';
import { createNodeMetrics } from '../../src/app/metrics.ts';
import { externalIds } from '../../src/core/resources/external-ids.ts';
import { ToolCatalogue } from '../../src/features/agents/tools/catalogue.ts';
import { endpointTool } from '../../src/features/agents/tools/endpoint-tool.ts';
import type { RunTool } from '../../src/features/agents/tools/tool.ts';
import { EXCHANGE_LIMITS } from '../../src/platform/http/server.ts';
import { silent } from '../access/rows.ts';
import { startTestApp } from '../support/app.ts';
import { accepted, createdAgent } from './bodies.ts';
import { ActingAgents, callTool, refusalShown } from './tools.ts';

interface Answered<Body> {
  readonly status: number;
  readonly body: Body;
  readonly note?: string;
}

const app = await startTestApp(t);
const { demo, database } = app;
const agents = await ActingAgents.open(t, app);
const catalogue = new ToolCatalogue(() => app.routes);
const metrics = createNodeMetrics();
const caller = callerOf(app.routes);
const group = { id: demo.conversations.group };

t.test('every endpoint that is open to agents, with a schema that models and ajv take', async (t) => {
  const closed = app.routes.filter(({ agents, secret }) => agents === false || secret === true);
  t.strictSame([...catalogue.endpoints.values()].length, app.routes.length - closed.length);
  for (const { name } of closed) t.notOk(catalogue.endpoints.has(name.replaceAll('_', '-')), name);
  t.ok(catalogue.endpoints.size <= 128, 'as many as the stricter providers take');
  const outside = app.routes.filter(({ reachesOutside }) => reachesOutside !== undefined);
  t.strictSame(outside.map(({ name }) => name).sort(), [
    'add_participant',
    'add_reaction',
    'create_conversation',
    'forward_message',
    'put_conversation',
    'remove_reaction',
    'send_message',
    'send_scheduled_message_now',
    'update_conversation',
    'update_message',
    'withdraw_question',
  ]);
  const reaches = (slug: string, body: object) => tool(slug).reachesOutside({ body });
  for (const [slug, body, expected] of [
    ['send-message', { body: 'x', audience: 'customer' }, true],
    ['send-message', { body: 'x', audience: 'customer', scheduled_at: '2999-01-01T00:00:00Z' }, true],
    ['send-message', { body: 'x', mode: 'draft', channel: 'message' }, false],
    ['send-message', { body: 'x' }, false],
    ['add-participant', { type: 'customer', name: 'Cleo' }, true],
    ['add-participant', { type: 'user', actor_id: 'act_1' }, false],
    ['create-conversation', { type: 'group', participants: [{ type: 'customer', name: 'Cleo' }] }, true],
    ['create-conversation', { type: 'group', participants: [] }, false],
    ['update-conversation', { title: 'x' }, true],
    ['update-conversation', { workflow_status: 'resolved' }, false],
    ['update-message', { body: 'x' }, true],
    ['create-event', { type: 'order.created', data: {} }, false],
  ] as const) {
    t.equal(reaches(slug, body), expected, `${slug} ${JSON.stringify(body)}`);
  }
  const problems = [...catalogue.endpoints.keys()].flatMap((slug) => {
    const { spec } = tool(slug);
    compile(spec.parameters);
    const names = namesIn(spec.parameters).filter((name) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(name));
    const isNamed = /^[a-zA-Z0-9_-]{1,64}$/.test(spec.name);
    const isPlain = !/discriminator|"~|\$id/.test(JSON.stringify(spec.parameters));
    return isNamed && isPlain && names.length === 0 ? [] : [slug];
  });
  t.strictSame(problems, []);
});

t.test('an endpoint tool acts as the agent, once for each action', async (t) => {
  const principal = await agents.create(['messaging:read', 'messaging:create']);
  await agents.join(principal, group.id);
  const actionId = newId('agentAction');
  const args = { path: group, body: { body: 'Tide is turning.', client_message_id: 'a' } };
  const send = () => callTool<Answered<ChatMessage>>(tool('send-message'), args, { principal, actionId });
  const [first, ...again] = [await send(), await send(), await send()] as const;
  t.equal(first.status, 201);
  t.match(first.body, { object: 'chat_message', body: 'Tide is turning.' });
  for (const other of again) t.strictSame(other, first);

  const externalId = 'tide/1';
  await database.kysely
    .updateTable('conversations')
    .set({ external_id: externalId })
    .where('id', '=', group.id)
    .execute();
  const named = { path: { id: `ext:${externalId}` } };
  const read = await callTool<Answered<{ id: string }>>(tool('get-conversation'), named, { principal });
  t.equal(read.body.id, group.id, 'by its external id');

  const args2 = { path: group, query: { limit: 5, include: ['author'] } };
  const { body } = await callTool<Answered<List<ChatMessage>>>(tool('list-messages'), args2, { principal });
  const sent = body.data.filter((message) => message.body === 'Tide is turning.');
  t.equal(sent.length, 1);
  t.match(sent[0]?.author, { id: principal.actor.id, type: 'agent' });
  const counted = await metrics.httpRequests.get();
  const path = '/v1/messaging/conversations/:id/messages';
  t.equal(counted.values.find(({ labels }) => labels.route === path && labels.status === 201)?.value, 3);

  const other = { ...args, body: { ...args.body, body: 'Something else.' } };
  t.match(
    await refusalShown(callTool(tool('send-message'), other, { principal, actionId })),
    /^validation_failed: Idempotency-Key: /,
  );
});

t.test('permissions that its role does not grant', async (t) => {
  const principal = await agents.create(['messaging:read']);
  await agents.join(principal, group.id);
  const send = { path: group, body: { body: 'x', client_message_id: 'b' } };
  const denied = 'insufficient_permissions: The role behind this credential does not grant';
  t.equal(
    await told('send-message', send, principal),
    `${denied} messaging:create. An admin can change the role.`,
  );
  t.equal(
    await told('get-agent', { path: { id: demo.agent.id } }, principal),
    `${denied} agents:read. An admin can change the role.`,
  );
  t.match(await told('list-messages', { path: group }, principal), /^was answered/);

  // Whatever a tool might be made of: the endpoint itself is closed.
  const approve = app.routes.find(({ name }) => name === 'approve_reply_draft')!;
  const mighty = await agents.create(['messaging:read', 'messaging:create', 'messaging:update']);
  const forced = endpointTool('approve', approve, { caller, needsReview: false });
  t.match(
    await refusalShown(callTool(forced, { path: { id: newId('message') } }, { principal: mighty })),
    /^insufficient_permissions: Agents cannot call this endpoint/,
  );
});

t.test('a role that changes counts at once', async (t) => {
  const principal = await agents.create(['messaging:read']);
  await database.kysely
    .updateTable('roles')
    .set({ permissions: [] })
    .where('id', '=', principal.roleId)
    .execute();
  await agents.rights.announce(principal.roleId ?? '');
  const now = await agents.principalOf(principal.actor.id);
  t.match(await told('list-conversations', {}, principal), /^was answered/);
  t.match(await told('list-conversations', {}, now), /^insufficient_permissions/);
});

t.test('the endpoint itself validates the arguments of its tool', async (t) => {
  const principal = await agents.create(['messaging:read', 'messaging:create', 'agents:create']);
  await agents.join(principal, group.id);
  const cases: [slug: string, args: object, expected: string][] = [
    ['send-message', { path: group, body: {} }, 'missing_field: body: '],
    ['send-message', { path: group, body: { body: 'x', mode: 'loud' } }, 'validation_failed: body.mode: '],
    ['list-messages', { path: group, query: { cursor: 'x' } }, 'parameter_invalid: cursor: '],
    [
      'create-agent',
      { body: { name: 'a', slug: 'a', category_code: 'a', trigger_type: 'scheduled', config: {} } },
      'missing_field: config.trigger_config.cron_schedule: ',
    ],
    ['send-message', { path: group, body: { body: 'x'.repeat(300_000) } }, 'validation_failed: '],
  ];
  for (const [slug, args, expected] of cases) {
    const answer = await told(slug, args, principal);
    t.ok(answer.startsWith(expected), answer);
  }
});

t.test('another account’s answers like an absent one', async (t) => {
  const principal = await agents.create(['messaging:read', 'agents:read']);
  const other = demo.other_account;
  const theirs = accepted(
    await app.call<{ id: string }>('POST', '/v1/ai/agents', {
      body: { name: 'a', slug: 'a', category_code: 'a', trigger_type: 'manual', config: {} },
      token: other.api_key,
      headers: { 'Service-Account': other.account_id },
    }),
    201,
  );
  const absent = await told('get-agent', { path: { id: newId('agent') } }, principal);
  t.match(absent, /^resource_not_found/);
  t.equal(await told('get-agent', { path: { id: theirs.id } }, principal), absent);
  const nowhere = await told('list-messages', { path: { id: newId('conversation') } }, principal);
  t.match(nowhere, /^resource_not_found/);
  t.equal(await told('list-messages', { path: { id: demo.conversations.direct } }, principal), nowhere);
});

t.test('calls count as those of the agent’s own credential', async (t) => {
  const limited = callerOf(app.routes, { requests: 3, seconds: 60 });
  const busy = await agents.create(['accounts:read']);
  const calm = await agents.create(['accounts:read']);
  const account = endpointTool('get-account', catalogue.endpoints.get('get-account')!, {
    caller: limited,
    needsReview: false,
  });
  const ask = (principal: Principal) => refusalShown(callTool(account, {}, { principal }));
  for (let i = 0; i < 3; i++) t.match(await ask(busy), /^was answered/);
  t.match(await ask(busy), /^rate_limit_exceeded/);
  t.match(await ask(calm), /^was answered/);
});

t.test('large answers of an endpoint tool are cut', async (t) => {
  const principal = await agents.create(['agents:read']);
  const config = { system_prompt: 'é'.repeat(60_000) };
  const { id } = await createdAgent(app, { config });
  const args = { path: { id }, query: { include: ['config'] } };
  const { body, note } = await callTool<Answered<string>>(tool('get-agent'), args, { principal });
  t.ok(Buffer.byteLength(body) > 65_000 && Buffer.byteLength(body) <= 65_536);
  t.match(note, /^Cut off after 65536 of 12\d{4} bytes/);
  const { body: whole } = await callTool<Answered<AgentDefinition>>(
    tool('get-agent'),
    { path: { id } },
    { principal },
  );
  t.equal(whole.id, id);
});

t.test('an id that spells another endpoint’s path leads nowhere', async (t) => {
  const answered: string[] = [];
  const route = (name: string, path: string): Route =>
    defineRoute({
      name,
      method: 'GET',
      path,
      summary: name,
      since: '1.0.harbor',
      permission: null,
      status: 200,
      response: { type: 'object' },
      handle: () => {
        answered.push(name);
        return { name };
      },
    });
  const routes = [route('get_ship', '/v1/ships/:id'), route('list_wrecks', '/v1/ships/wrecks')];
  const ship = endpointTool('get-ship', routes[0]!, { caller: callerOf(routes), needsReview: false });
  const principal = await agents.create([]);
  const get = (id: string) => refusalShown(callTool(ship, { path: { id } }, { principal }));
  t.match(await get('1'), /^was answered/);
  t.equal(await get('wrecks'), 'resource_not_found: There is no such endpoint.');
  t.match(await get('../ships'), /^was answered/, 'which is but an id');
  t.strictSame(answered, ['get_ship', 'get_ship']);
});

t.test('an aborted call does not wait for the answer', async (t) => {
  const principal = await agents.create(['accounts:read']);
  const controller = new AbortController();
  controller.abort(new Error('stopped'));
  const called = callTool(tool('get-account'), {}, { principal, signal: controller.signal });
  await t.rejects(called, { message: 'stopped' });
  const later = new AbortController();
  const under = callTool(tool('get-account'), {}, { principal, signal: later.signal });
  later.abort(new Error('stopped too'));
  await t.rejects(under, { message: 'stopped too' });
});

function callerOf(routes: readonly Route[], rate: { requests: number; seconds: number } | null = null) {
  const http = createHttp({
    routes,
    authenticator: { authenticate: () => Promise.reject(new Error('nobody is asked for a credential')) },
    limiter: createRateLimits(rate).credentials,
    idempotency: new Idempotency({ database }),
    externalIds: externalIds(database),
    database,
    metrics,
    log: silent,
    docsUrl: '/docs',
    requestLogUrl: null,
  });
  return new InProcess(http, EXCHANGE_LIMITS);
}

function tool(slug: string): RunTool {
  return endpointTool(slug, catalogue.endpoints.get(slug)!, { caller, needsReview: false });
}

function told(slug: string, args: object, principal: Principal): Promise<string> {
  return refusalShown((async () => callTool(tool(slug), args, { principal }))());
}

/** Returns the names of all properties, at any depth. */
function namesIn(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties } = schema as { readonly properties?: object };
  return [...Object.keys(properties ?? {}), ...Object.values(schema).flatMap(namesIn)];
}
