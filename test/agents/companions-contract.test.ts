/** Agents after their creation (docs/contract.md#agents) over HTTP, on a whole server. */

import { newId } from '@parley/protocol/ids.ts';
import type { Permission } from '@parley/protocol/permissions.ts';
import type { AgentDefinition } from '@parley/protocol/resources/agent-definition.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import t from 'tap';
import { createUser } from '../../src/core/accounts/actors/users.ts';
import { createRole, findRole } from '../../src/core/accounts/rights/roles.ts';
import { createConversation } from '../../src/core/conversations/rows/conversation-store.ts';
import { borrowTestApp, type CallAnswer, type CallOptions, type Refusal, refusalOf } from '../support/app.ts';
import { AGENTS, type AgentPage, accepted, asNeighbour, createdAgent, textOf } from './bodies.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const ALL = 'include[]=config&include[]=tools&include[]=role';
const agentRole = await findRole(database, demo.account_id, 'agent');

t.test('GET: the fields of Create Agent, the trigger, and the tools', async (t) => {
  const made = await createdAgent(
    app,
    {
      trigger_type: 'scheduled',
      role_id: agentRole.id,
      config: {
        trigger_config: { cron_schedule: '0 9 * * *' },
        tools: [{ tool: 'create_artifact', config_json: '{"max_bytes":5}' }],
      },
    },
    { query: ALL },
  );
  const shown = await get(made.id, ALL);
  t.strictSame(shown, {
    ...made,
    config: {
      ...made.config,
      trigger_config: { cron_schedule: '0 9 * * *', timezone: 'UTC', event_filters: null },
      tools: [
        {
          ...made.config?.tools?.[0],
          tool: {
            id: 'tool_create_artifact',
            object: 'available_tool',
            slug: 'create_artifact',
            name: 'Create artifact',
            description: 'Keeps a text that the agent wrote as a file of its run, attached to what it says.',
            category: 'built_in',
            mutating: true,
            config_schema: {
              type: 'object',
              properties: {
                max_bytes: { type: 'integer', minimum: 1, maximum: 1_048_576, default: 1_048_576 },
              },
              additionalProperties: false,
            },
          },
        },
      ],
    },
  });
  t.strictSame(await get(made.id), { ...made, role: null, config: null });
  t.strictSame((await get(made.id, 'include[]=config')).config, { ...shown.config, tools: null });
  t.strictSame((await get(made.id, 'include[]=tools')).config, shown.config, 'tools imply config');
  t.strictSame(await get(made.id, 'include[]=role'), { ...made, config: null });

  const [onEvent, byHand] = [
    await createdAgent(app, {
      trigger_type: 'event',
      config: { trigger_config: { event_filters: ['email.received', 'message.created'] } },
    }),
    await createdAgent(app),
  ];
  t.strictSame((await get(onEvent.id, ALL)).config?.trigger_config, {
    cron_schedule: null,
    timezone: null,
    event_filters: ['email.received', 'message.created'],
  });
  t.equal((await get(byHand.id, ALL)).config?.trigger_config, null);
});

t.test('PATCH: each field takes the old one’s place, and nothing else changes', async (t) => {
  const { id } = await createdAgent(app, {
    description: 'first',
    role_id: agentRole.id,
    trigger_type: 'scheduled',
    config: {
      system_prompt: 'Sort.',
      tier: 'high',
      temperature: 0.5,
      trigger_config: { cron_schedule: '0 9 * * *', timezone: 'Asia/Tokyo' },
      endpoint_tool_slugs: ['send-message'],
      endpoint_tool_review: { 'send-message': true },
      tools: [{ tool: 'read_doc' }, { tool: 'fetch_url', require_review: true }],
    },
  });
  const changes: [body: object, expected: (before: AgentDefinition) => object][] = [
    [{ name: 'Renamed' }, () => ({ name: 'Renamed' })],
    [{ description: 'second' }, () => ({ description: 'second' })],
    [{ description: null }, () => ({ description: null })],
    [{ category_code: 'sales' }, () => ({ category_code: 'sales' })],
    [{ status: 'inactive' }, () => ({ status: 'inactive' })],
    [{ status: 'active' }, () => ({ status: 'active' })],
    [{ role_id: null }, () => ({ role: null })],
    [{ config: { system_prompt: 'Sort well.' } }, inConfig({ system_prompt: 'Sort well.' })],
    [{ config: { system_prompt: null } }, inConfig({ system_prompt: null })],
    [{ config: { tier: 'cheap', temperature: 1 } }, inConfig({ tier: 'cheap', temperature: 1 })],
    [{ config: { tier: null, temperature: null } }, inConfig({ tier: null, temperature: null })],
    [
      { config: { trigger_config: { cron_schedule: '*/5 * * * *' } } },
      inConfig({ trigger_config: { cron_schedule: '*/5 * * * *', timezone: 'UTC', event_filters: null } }),
    ],
    [{ config: { endpoint_tool_slugs: ['*'] } }, inConfig({ endpoint_tool_slugs: ['*'] })],
    [{ config: { endpoint_tool_slugs: [] } }, inConfig({ endpoint_tool_slugs: [] })],
    [
      { config: { endpoint_tool_review: { 'list-agents': true } } },
      inConfig({ endpoint_tool_review: { 'list-agents': true } }),
    ],
    [{ config: { endpoint_tool_review: {} } }, inConfig({ endpoint_tool_review: {} })],
    [{ config: { tools: [] } }, inConfig({ tools: [] })],
    [{}, () => ({})],
  ];
  for (const field of ['name', 'config', 'status']) {
    const refused = await app.call('PATCH', `${AGENTS}/${id}`, { body: { [field]: null } });
    t.equal(refusalOf(refused), `400 missing_field ${field}`);
  }
  let before = await get(id, ALL);
  for (const [body, expected] of changes) {
    const answer = await patch(id, body, ALL);
    const shown = accepted(answer);
    const what = JSON.stringify(body);
    t.strictSame(shown, { ...before, ...expected(before), updated_at: shown.updated_at }, what);
    t.strictSame(await get(id, ALL), shown, what);
    if (body !== changes.at(-1)?.[0]) t.ok(shown.updated_at > before.updated_at, `${what}: later`);
    else t.equal(shown.updated_at, before.updated_at, 'nothing given: nothing changed');
    before = shown;
  }
  t.strictSame(accepted(await patch(id, {})), { ...before, role: null, config: null });

  // The answer of a GET can be sent back.
  const { trigger_config } = before.config!;
  t.strictSame(accepted(await patch(id, { config: { trigger_config } }, ALL)).config, before.config);
});

t.test('PATCH tools: one that stays keeps its id', async (t) => {
  const made = await createdAgent(
    app,
    { config: { tools: [{ tool: 'read_doc' }, { tool: 'fetch_url', config_json: '{"max_bytes":5}' }] } },
    { query: ALL },
  );
  const [doc, url] = made.config!.tools!;
  const tools = [{ tool: 'fetch_url', require_review: true, sort_order: 9 }, { tool: 'create_artifact' }];
  const shown = accepted(await patch(made.id, { config: { tools } }, ALL));
  const [artifact, kept] = shown.config!.tools!;
  t.strictSame(
    { ...kept, tool: null },
    { ...url, review_requirement: 'required', config: null, sort_order: 9, updated_at: shown.updated_at },
  );
  t.notMatch([doc?.id, url?.id], [artifact?.id]);
  t.match(artifact, { sort_order: 1, created_at: shown.updated_at, tool: { slug: 'create_artifact' } });
});

t.test('PATCH refuses what Create Agent refuses, and what does not change', async (t) => {
  const scheduled = await createdAgent(app, {
    trigger_type: 'scheduled',
    config: { trigger_config: { cron_schedule: '0 9 * * *' } },
  });
  const manual = await createdAgent(app);
  const refused: [id: string, body: object, expected: string][] = [
    [manual.id, { trigger_type: 'chat' }, '422 validation_failed trigger_type'],
    [manual.id, { slug: 'other' }, '422 validation_failed slug'],
    [manual.id, { name: '' }, '422 validation_failed name'],
    [manual.id, { category_code: 1 }, '400 invalid_format category_code'],
    [manual.id, { status: 'paused' }, '422 validation_failed status'],
    [manual.id, { role_id: newId('role') }, '404 resource_not_found role_id'],
    [manual.id, { role_id: 'admin' }, '404 resource_not_found role_id'],
    [manual.id, { config: { temperature: 2 } }, '422 validation_failed config.temperature'],
    [manual.id, { config: { model: 'x' } }, '422 validation_failed config.model'],
    [
      manual.id,
      { config: { trigger_config: { cron_schedule: '* * * * *' } } },
      '422 validation_failed config.trigger_config.cron_schedule',
    ],
    [
      scheduled.id,
      { config: { trigger_config: {} } },
      '400 missing_field config.trigger_config.cron_schedule',
    ],
    [
      scheduled.id,
      { config: { trigger_config: { cron_schedule: 'soon' } } },
      '400 invalid_format config.trigger_config.cron_schedule',
    ],
    [
      scheduled.id,
      { config: { endpoint_tool_slugs: ['nothing'] } },
      '422 validation_failed config.endpoint_tool_slugs[0]',
    ],
    [
      scheduled.id,
      { config: { endpoint_tool_review: { nothing: true } } },
      '422 validation_failed config.endpoint_tool_review.nothing',
    ],
    [
      scheduled.id,
      { config: { tools: [{ tool: 'read_doc', config_json: '{' }] } },
      '400 invalid_format config.tools[0].config_json',
    ],
    [
      scheduled.id,
      { config: { tools: [{ tool: 'read_doc', config_json: '[]' }] } },
      '422 validation_failed config.tools[0].config_json',
    ],
  ];
  for (const [id, body, expected] of refused) {
    t.equal(refusalOf(await patch(id, body)), expected, JSON.stringify(body));
  }
  for (const made of [scheduled, manual]) t.strictSame(await get(made.id), made, 'nothing was changed');
});

t.test('a new role applies at once, and cannot exceed the rights of the caller', async (t) => {
  const made = await createdAgent(app, { role_id: agentRole.id });
  const actorId = await actorOf(made.id);
  const token = await app.tokenOf(actorId);
  t.equal((await app.call('GET', AGENTS, { token })).status, 403, 'the role agent has no agents:read');
  const reading = await newRole(['agents:read', 'roles:read']);
  const updater = await newUser(['agents:update', 'agents:read']);
  t.equal(
    refusalOf(await patch(made.id, { role_id: reading.id }, '', updater)),
    '403 insufficient_permissions null',
  );
  t.equal((await patch(made.id, { role_id: reading.id }, '', { token: ada.access_token })).status, 200);
  t.equal((await app.call('GET', AGENTS, { token })).status, 200, 'known as soon as it is answered');
  accepted(await patch(made.id, { role_id: reading.id, name: 'Same role' }, '', updater));
  accepted(await patch(made.id, { role_id: null }, '', updater));
  t.equal((await app.call('GET', AGENTS, { token })).status, 403);
});

t.test('a new name is the actor’s too', async (t) => {
  const made = await createdAgent(app, { name: 'Before' });
  const actorId = await actorOf(made.id);
  accepted(await patch(made.id, { name: 'After' }));
  const { name, handle } = await database.kysely
    .selectFrom('actors')
    .select(['name', 'handle'])
    .where('id', '=', actorId)
    .executeTakeFirstOrThrow();
  t.strictSame({ name, handle }, { name: 'After', handle: null });
});

t.test('DELETE returns the last state, then nothing remains; messages still show their author', async (t) => {
  const made = await createdAgent(app, { name: 'Leaving', slug: 'leaving', role_id: agentRole.id });
  const actorId = await actorOf(made.id);
  const token = await app.tokenOf(actorId);
  const { conversation } = await database.transaction((tx) =>
    createConversation(tx, {
      accountId: demo.account_id,
      type: 'group',
      title: 'Desk',
      participants: [
        { type: 'user', actorId: ada.id },
        { type: 'agent', actorId, triggerPolicy: 'always' },
      ],
    }),
  );
  const messages = `/v1/messaging/conversations/${conversation.id}/messages`;
  const send = <Body = ChatMessage>(n: number) =>
    app.call<Body>('POST', messages, { token, body: { body: 'bye', client_message_id: `bye-${n}` } });
  const sent = accepted(await send(1), 201);

  const gone = accepted(await app.call<AgentDefinition>('DELETE', `${AGENTS}/${made.id}?include[]=role`));
  t.strictSame({ ...gone, role: null }, made);
  t.equal(gone.role?.id, agentRole.id);
  const absent = await app.call('GET', `${AGENTS}/${newId('agent')}`);
  t.equal(refusalOf(absent), '404 resource_not_found id');
  for (const [method, body] of [['GET'], ['PATCH', { name: 'x' }], ['DELETE']] as const) {
    const answer = await app.call(method, `${AGENTS}/${made.id}`, { body });
    t.equal(textOf(answer), textOf(absent), method);
  }
  t.notOk((await list('limit=100')).data.some(({ id }) => id === made.id));
  t.equal(refusalOf(await send<Refusal>(2)), '401 invalid_credentials null', 'its tokens are over');
  const shown = accepted(
    await app.call<{ data: ChatMessage[] }>('GET', `${messages}?include[]=sender&include[]=author`),
  );
  const found = shown.data.find(({ id }) => id === sent.id);
  t.match(
    [found?.sender, found?.author],
    [
      { id: actorId, name: 'Leaving' },
      { id: actorId, type: 'agent' },
    ],
  );

  const next = await createdAgent(app, { slug: 'leaving' });
  t.not(next.id, made.id, 'the slug is free again');
  t.not(await actorOf(next.id), actorId);
});

t.test('of two concurrent deletions of an agent one succeeds', async (t) => {
  const { id } = await createdAgent(app);
  const both = await Promise.all([
    app.call('DELETE', `${AGENTS}/${id}`),
    app.call('DELETE', `${AGENTS}/${id}`),
  ]);
  t.strictSame(both.map(({ status }) => status).sort(), [200, 404]);
});

t.test('changes at once: each has its effect', async (t) => {
  const { id } = await createdAgent(app);
  const bodies = [
    { name: 'At once' },
    { category_code: 'both' },
    { config: { tier: 'cheap' } },
    { config: { temperature: 0.1 } },
  ];
  for (const { status } of await Promise.all(bodies.map((body) => patch(id, body)))) t.equal(status, 200);
  t.match(await get(id, ALL), {
    name: 'At once',
    category_code: 'both',
    config: { tier: 'cheap', temperature: 0.1 },
  });
});

t.test('system definitions keep their configuration; the account controls their status', async (t) => {
  const { id } = await createdAgent(app);
  await database.kysely
    .updateTable('agent_definitions')
    .set({ definition_type: 'system' })
    .where('id', '=', id)
    .execute();
  t.match(await get(id), { definition_type: 'system', editability: 'read_only' });
  for (const body of [{ name: 'Mine' }, { status: 'inactive', description: null }, { config: {} }]) {
    t.equal(refusalOf(await patch(id, body)), '409 resource_conflict null', JSON.stringify(body));
  }
  t.equal(refusalOf(await app.call('DELETE', `${AGENTS}/${id}`)), '409 resource_conflict null');
  t.match(accepted(await patch(id, { status: 'inactive' })), { status: 'inactive', name: 'Sorter' });
});

t.test('an agent that may change agents may not change itself', async (t) => {
  const role = await newRole(['agents:read', 'agents:update']);
  const [self, other] = [await createdAgent(app, { role_id: role.id }), await createdAgent(app)];
  const token = await app.tokenOf(await actorOf(self.id));
  const refused = '403 insufficient_permissions null';
  t.equal(refusalOf(await patch(self.id, { config: { endpoint_tool_review: {} } }, '', { token })), refused);
  t.equal(refusalOf(await app.call('DELETE', `${AGENTS}/${self.id}`, { token })), refused);
  t.equal((await patch(other.id, { name: 'Changed' }, '', { token })).status, 200);
});

t.test('another account’s agent is one that there is not', async (t) => {
  const made = await createdAgent(app);
  const neighbour = asNeighbour(app);
  for (const [method, body] of [['GET'], ['PATCH', { name: 'Mine' }], ['DELETE']] as const) {
    const [foreign, absent] = [
      await app.call(method, `${AGENTS}/${made.id}`, { ...neighbour, body }),
      await app.call(method, `${AGENTS}/${newId('agent')}`, { ...neighbour, body }),
    ];
    t.equal(refusalOf(foreign), '404 resource_not_found id', method);
    t.equal(textOf(foreign), textOf(absent), method);
  }
  t.strictSame(await get(made.id), made);
  t.strictSame((await list('', neighbour)).data, []);
});

t.test('the list: newest first, filtered, with the requested expansions', async (t) => {
  const category = 'harbor';
  const chat = await createdAgent(app, {
    name: 'Pilot 50%',
    slug: 'harbor-pilot',
    trigger_type: 'chat',
    category_code: category,
    description: 'Brings Ships in',
    role_id: agentRole.id,
    config: { tools: [{ tool: 'read_doc' }] },
  });
  const event = await createdAgent(app, {
    name: 'Lookout',
    slug: 'harbor-lookout',
    trigger_type: 'event',
    category_code: category,
    config: { trigger_config: { event_filters: ['message.created'] } },
  });
  const manual = await createdAgent(app, { name: 'Tug_boat', slug: 'harbor-tug', category_code: category });
  accepted(await patch(manual.id, { status: 'inactive' }));
  const all = [manual.id, event.id, chat.id];
  const cases: [query: string, ids: string[]][] = [
    ['', all],
    ['trigger_type=chat', [chat.id]],
    ['trigger_type=event', [event.id]],
    ['trigger_type=scheduled', []],
    ['status=active', [event.id, chat.id]],
    ['status=inactive', [manual.id]],
    ['status=active&trigger_type=manual', []],
    ['q=LOOK', [event.id]],
    ['search=pilot', [chat.id]],
    ['q=ships%20in', [chat.id]],
    ['q=50%25', [chat.id]],
    ['q=%25', [chat.id]],
    ['q=_', [manual.id]],
    ['q=harbor-', all],
    ['q=nowhere', []],
  ];
  for (const [query, ids] of cases) {
    const { data } = await list(`category_code=${category}&${query}`);
    t.strictSame(
      data.map(({ id }) => id),
      ids,
      query,
    );
  }
  const { data } = await list(`category_code=${category}&${ALL}`);
  t.strictSame(data, [await get(manual.id, ALL), await get(event.id, ALL), await get(chat.id, ALL)]);
  t.strictSame((await list(`category_code=${category}`)).data.at(-1), chat);

  const ids = (await list('limit=100')).data.map(({ id }) => id);
  t.equal(ids.at(-1), demo.agent.id, 'the demo agent is the oldest');
  const forth: string[] = [];
  let page = await list('limit=4');
  t.equal(page.page_info.previous_page_url, null);
  forth.push(...page.data.map(({ id }) => id));
  while (page.page_info.next_page_url !== null) {
    page = accepted(await app.call<AgentPage>('GET', page.page_info.next_page_url));
    forth.push(...page.data.map(({ id }) => id));
  }
  t.strictSame(forth, ids);
  const back = page.data.map(({ id }) => id).reverse();
  while (page.page_info.previous_page_url !== null) {
    page = accepted(await app.call<AgentPage>('GET', page.page_info.previous_page_url));
    back.push(...page.data.map(({ id }) => id).reverse());
  }
  t.strictSame(back, ids.toReversed());
});

t.test('the endpoints of agents refuse invalid parameters', async (t) => {
  const { page_info } = await list('limit=1');
  const cursor = new URL(page_info.next_page_url!, app.baseUrl).searchParams.get('cursor');
  const refused: [query: string, param: string][] = [
    ['trigger_type=cron', 'trigger_type'],
    ['status=deleted', 'status'],
    ['category_code=', 'category_code'],
    ['include[]=runs', 'include[]'],
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['cursor=x', 'cursor'],
    [`cursor=${cursor}&status=active`, 'cursor'],
  ];
  for (const [query, param] of refused) {
    const answer = await app.call('GET', `${AGENTS}?${query}`);
    t.equal(refusalOf(answer), `400 parameter_invalid ${param}`, query);
  }
  t.equal(refusalOf(await app.call('GET', `${AGENTS}?slug=x`)), '400 parameter_unknown slug');
  const one = `${AGENTS}/${demo.agent.id}?include[]=runs`;
  for (const method of ['GET', 'DELETE']) {
    t.equal(refusalOf(await app.call(method, one)), '400 parameter_invalid include[]', method);
  }
  t.equal(refusalOf(await app.call('PUT', one)), '405 method_not_allowed null');
});

t.test('the endpoints of agents require their permissions', async (t) => {
  const { id } = await createdAgent(app);
  const calls: [method: string, path: string, body?: object][] = [
    ['GET', AGENTS],
    ['GET', `${AGENTS}/${id}`],
    ['PATCH', `${AGENTS}/${id}`, { name: 'x' }],
    ['DELETE', `${AGENTS}/${id}`],
  ];
  const forbidden = '403 insufficient_permissions null';
  const reader = await newUser(['agents:read', 'agents:create', 'agents:run']);
  for (const [method, path, body] of calls) {
    const call = (options: CallOptions) => app.call(method, path, { body, ...options });
    const what = `${method} ${path}`;
    const anonymous = await call({ headers: { Authorization: undefined } });
    t.equal(refusalOf(anonymous), '401 invalid_credentials Authorization', what);
    t.equal(refusalOf(await call({ token: vera.access_token })), forbidden, what);
    t.equal(refusalOf(await call({ token: demo.customer.access_token })), forbidden, what);
    const old = await call({ headers: { 'Service-Version': '1.0.harbor' } });
    const isList = method === 'GET' && path === AGENTS;
    t.equal(refusalOf(old), '400 api_version_too_old Service-Version', what);
    if (method === 'GET') {
      t.equal((await call({ token: grace.access_token })).status, 200, what);
      t.equal((await call(reader)).status, 200, `${what}${isList ? ' as a reader' : ''}`);
    } else {
      t.equal(refusalOf(await call({ token: grace.access_token })), forbidden, what);
      t.equal(refusalOf(await call(reader)), forbidden, what);
    }
  }
});

function get(id: string, query = ''): Promise<AgentDefinition> {
  return app.call<AgentDefinition>('GET', `${AGENTS}/${id}?${query}`).then(accepted<AgentDefinition>);
}

async function list(query: string, options: CallOptions = {}): Promise<AgentPage> {
  return accepted(await app.call<AgentPage>('GET', `${AGENTS}?${query}`, options));
}

function patch<Body = AgentDefinition & Refusal>(
  id: string,
  body: object,
  query = '',
  options: CallOptions = {},
): Promise<CallAnswer<Body>> {
  return app.call<Body>('PATCH', `${AGENTS}/${id}?${query}`, { body, ...options });
}

function inConfig(fields: object) {
  return ({ config }: AgentDefinition) => ({ config: { ...config, ...fields } });
}

async function actorOf(agentId: string): Promise<string> {
  const { actor_id } = await database.kysely
    .selectFrom('agent_definitions')
    .select('actor_id')
    .where('id', '=', agentId)
    .executeTakeFirstOrThrow();
  return actor_id;
}

let made = 0;

function newRole(permissions: readonly Permission[]) {
  made += 1;
  const name = `Role ${made}`;
  return database.transaction((tx) => createRole(tx, { accountId: demo.account_id, name, permissions }));
}

async function newUser(permissions: readonly Permission[]): Promise<CallOptions> {
  const { id: roleId, name } = await newRole(permissions);
  const email = `${name.replace(' ', '-')}@example.com`;
  const { user } = await database.transaction((tx) =>
    createUser(tx, { accountId: demo.account_id, name, email, roleId }),
  );
  return { token: await app.tokenOf(user.id) };
}
