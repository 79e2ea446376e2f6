/** Create Agent (docs/contract.md#creating-an-agent) over HTTP, on a whole server. */

import { newId } from '@parley/protocol/ids.ts';
import type { Permission } from '@parley/protocol/permissions.ts';
import type { AgentDefinition } from '@parley/protocol/resources/agent-definition.ts';
import { sql } from 'kysely';
import t from 'tap';
import { createUser } from '../../src/core/accounts/actors/users.ts';
import { createRole, findRole } from '../../src/core/accounts/rights/roles.ts';
import { insertAgent, requireRoom } from '../../src/features/agents/store.ts';
import { borrowTestApp, type CallOptions, refusalOf } from '../support/app.ts';
import { until } from '../support/until.ts';
import { AGENTS, accepted, agentBody, asNeighbour, createdAgent, textOf } from './bodies.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const agentRole = await roleOf('agent');

t.test('the resource: every field of the contract and no other', async (t) => {
  const body = agentBody({ slug: 'plain' });
  const shown = accepted(
    await app.call<AgentDefinition>('POST', AGENTS, { body, token: grace.access_token }),
    201,
  );
  t.strictSame(shown, {
    id: shown.id,
    object: 'agent_definition',
    definition_type: 'custom',
    category_code: 'support',
    trigger_type: 'manual',
    name: 'Sorter',
    slug: 'plain',
    description: null,
    editability: 'editable',
    status: 'active',
    role: null,
    config: null,
    created_at: shown.created_at,
    updated_at: shown.created_at,
  });
  t.match(shown.id, /^agt_\w{24}$/);
  t.match(shown.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  t.ok(Math.abs(Date.parse(shown.created_at) - Date.now()) < 60_000, 'the time of this moment');

  const oldest = { headers: { 'Service-Version': '1.0.harbor' } };
  t.equal((await app.call('POST', AGENTS, { body: agentBody(), ...oldest })).status, 201, 'since 1.0');
});

t.test('every field of the body, and every expansion', async (t) => {
  const shown = await createdAgent(
    app,
    {
      slug: 'all-of-it',
      description: 'Sorts what came in overnight.',
      trigger_type: 'scheduled',
      role_id: agentRole.id,
      config: {
        system_prompt: 'Sort. 🗂️',
        tier: 'cheap',
        temperature: 0.25,
        trigger_config: { cron_schedule: '30 6 * * MON-FRI', timezone: 'Europe/Berlin' },
        endpoint_tool_slugs: ['send-message', 'list-agents'],
        endpoint_tool_review: { 'send-message': true, 'list-agents': false },
        tools: [
          {
            tool: 'fetch_url',
            config_json: '{"allowed_hosts":["example.com","*.example.org"],"max_bytes":9}',
          },
          { tool: 'create_artifact', sort_order: -3, require_review: true },
        ],
      },
    },
    { query: 'include[]=config&include[]=tools&include[]=role' },
  );
  const times = { created_at: shown.created_at, updated_at: shown.created_at };
  const [first, second] = shown.config?.tools ?? [];
  t.strictSame(shown, {
    id: shown.id,
    object: 'agent_definition',
    definition_type: 'custom',
    category_code: 'support',
    trigger_type: 'scheduled',
    name: 'Sorter',
    slug: 'all-of-it',
    description: 'Sorts what came in overnight.',
    editability: 'editable',
    status: 'active',
    role: {
      id: agentRole.id,
      object: 'role',
      name: 'agent',
      type: 'agent',
      owner: null,
      permissions: null,
      created_at: agentRole.created_at,
      updated_at: agentRole.updated_at,
    },
    config: {
      object: 'agent_definition_config',
      system_prompt: 'Sort. 🗂️',
      tier: 'cheap',
      temperature: 0.25,
      trigger_config: null,
      endpoint_tool_slugs: ['send-message', 'list-agents'],
      endpoint_tool_review: { 'send-message': true, 'list-agents': false },
      tools: [
        {
          id: first?.id,
          object: 'agent_definition_tool',
          tool: null,
          review_requirement: 'required',
          config: null,
          sort_order: -3,
          ...times,
        },
        {
          id: second?.id,
          object: 'agent_definition_tool',
          tool: null,
          review_requirement: 'not_required',
          config: { allowed_hosts: ['example.com', '*.example.org'], max_bytes: 9 },
          sort_order: 0,
          ...times,
        },
      ],
    },
    ...times,
  });
  t.match(first?.id, /^atl_\w{24}$/);
  t.not(first?.id, second?.id);
});

t.test('it acts as its own actor, with the role', async (t) => {
  const { id } = await createdAgent(app, { name: 'Actor', role_id: agentRole.id });
  const actor = await database.kysely
    .selectFrom('agent_definitions as agent')
    .innerJoin('actors', 'actors.id', 'agent.actor_id')
    .select(['actors.type', 'actors.name', 'actors.role_id', 'actors.account_id', 'actors.customer'])
    .where('agent.id', '=', id)
    .executeTakeFirstOrThrow();
  t.strictSame(actor, {
    type: 'agent',
    name: 'Actor',
    role_id: agentRole.id,
    account_id: demo.account_id,
    customer: false,
  });
});

t.test('include[]: each alone, and tools with the config that they are part of', async (t) => {
  const fields = { role_id: agentRole.id, config: { tools: [{ tool: 'read_doc' }] } };
  const cases: [include: string[], role: boolean, config: boolean, tools: boolean][] = [
    [[], false, false, false],
    [['config'], false, true, false],
    [['tools'], false, true, true],
    [['role'], true, false, false],
    [['config', 'tools'], false, true, true],
    [['role', 'tools'], true, true, true],
    [['role', 'config'], true, true, false],
  ];
  for (const [include, role, config, tools] of cases) {
    const query = include.map((name) => `include[]=${name}`).join('&');
    const shown = await createdAgent(app, fields, { query });
    const seen = [shown.role !== null, shown.config !== null, (shown.config?.tools ?? null) !== null];
    t.strictSame(seen, [role, config, tools], query);
  }
  const bare = await createdAgent(app, {}, { query: 'include[]=config&include[]=tools&include[]=role' });
  t.equal(bare.role, null, 'without a role there is none to show');
  t.strictSame(bare.config, {
    object: 'agent_definition_config',
    system_prompt: null,
    tier: null,
    temperature: null,
    trigger_config: null,
    endpoint_tool_slugs: [],
    endpoint_tool_review: {},
    tools: [],
  });
});

t.test('values at the limits of what is accepted', async (t) => {
  const taken: object[] = [
    { name: 'n'.repeat(200), slug: 'a'.repeat(64), category_code: 'c'.repeat(64) },
    { slug: '0', description: '' },
    { slug: 'a-0-b' },
    { config: { temperature: 0, system_prompt: 'é'.repeat(100_000) } },
    { config: { temperature: 1, tools: [{ tool: 'read_doc', config_json: '{}' }] } },
    { config: { endpoint_tool_slugs: ['*'], endpoint_tool_review: { 'send-message': true } } },
    { config: { trigger_config: {} } },
    { trigger_type: 'chat', config: { trigger_config: null, tools: null, tier: null } },
    { description: null, role_id: null },
    { trigger_type: 'event', config: { trigger_config: { event_filters: ['email.received'] } } },
    ...['* * * * *', '0 0 29 2 *', '*/15 8-18 1,15 * *', ' 0 9 * * 1 '].map((cron_schedule) => ({
      trigger_type: 'scheduled',
      config: { trigger_config: { cron_schedule } },
    })),
  ];
  for (const fields of taken) {
    const { status, text } = await app.call('POST', AGENTS, { body: agentBody(fields) });
    t.equal(status, 201, `${JSON.stringify(fields).slice(0, 100)}: ${text.slice(0, 200)}`);
  }
});

t.test('a tool that does not exist is answered with the one that was meant', async (t) => {
  const told = async (slug: string) => {
    const body = agentBody({ config: { endpoint_tool_slugs: [slug] } });
    const answer = await app.call('POST', '/v1/ai/agents', { body });
    return answer.body.error?.message;
  };
  t.match(await told('list_conversations'), 'Did you mean list-conversations?', 'by its operationId');
  t.match(await told('send-mesage'), 'Did you mean send-message?');
  t.equal(await told('sail-the-sea'), 'There is no such endpoint tool.');
});

t.test('creating an agent refuses invalid bodies', async (t) => {
  const config = (fields: object) => ({ config: fields });
  const trigger = (trigger_type: string, trigger_config?: object) => ({
    trigger_type,
    config: { trigger_config },
  });
  const tools = (...list: object[]) => config({ tools: list });
  const refused: [fields: object, expected: string][] = [
    ...['name', 'slug', 'category_code', 'trigger_type', 'config'].flatMap((field): [object, string][] => [
      [{ [field]: undefined }, `400 missing_field ${field}`],
      [{ [field]: null }, `400 missing_field ${field}`],
      [{ [field]: 7 }, `400 invalid_format ${field}`],
    ]),
    ...['name', 'category_code', 'slug'].map((field): [object, string] => [
      { [field]: '' },
      `422 validation_failed ${field}`,
    ]),
    [{ name: ' \t' }, '422 validation_failed name'],
    [{ category_code: '  ' }, '422 validation_failed category_code'],
    [{ name: 'n'.repeat(201) }, '422 validation_failed name'],
    [{ category_code: 'c'.repeat(65) }, '422 validation_failed category_code'],
    [{ description: 'd'.repeat(2_001) }, '422 validation_failed description'],
    [{ description: 1 }, '400 invalid_format description'],
    ...['A', 'a_b', 'a--b', '-a', 'a-', 'a b', 'é', 'a'.repeat(65), 'a\n'].map((slug): [object, string] => [
      { slug },
      '422 validation_failed slug',
    ]),
    [{ trigger_type: 'cron' }, '422 validation_failed trigger_type'],
    [{ status: 'inactive' }, '422 validation_failed status'],
    [{ definition_type: 'system' }, '422 validation_failed definition_type'],
    [{ name: 'a\u0000' }, '400 invalid_format name'],

    [config({ model: 'x' }), '422 validation_failed config.model'],
    [config({ system_prompt: 'p'.repeat(100_001) }), '422 validation_failed config.system_prompt'],
    [config({ tier: 'best' }), '422 validation_failed config.tier'],
    [config({ tier: 1 }), '400 invalid_format config.tier'],
    [config({ temperature: 1.01 }), '422 validation_failed config.temperature'],
    [config({ temperature: -0.01 }), '422 validation_failed config.temperature'],
    [config({ temperature: '0.5' }), '400 invalid_format config.temperature'],

    [{ trigger_type: 'scheduled' }, '400 missing_field config.trigger_config.cron_schedule'],
    [trigger('scheduled', {}), '400 missing_field config.trigger_config.cron_schedule'],
    [
      trigger('scheduled', { cron_schedule: null, timezone: 'UTC' }),
      '400 missing_field config.trigger_config.cron_schedule',
    ],
    ...[
      '',
      'soon',
      '@daily',
      '* * * *',
      '0 * * * * *',
      '0 0 * * * * 2030',
      '60 * * * *',
      '* 24 * * *',
      '* * 0 * *',
      '* * * 13 *',
      '* * * * 8',
      '*/0 * * * *',
      '9-5 * * * *',
      '0 0 30 2 *',
      '0 0 31 2,4,6,9,11 *',
    ].map((cron_schedule): [object, string] => [
      trigger('scheduled', { cron_schedule }),
      '400 invalid_format config.trigger_config.cron_schedule',
    ]),
    [
      trigger('scheduled', { cron_schedule: '1,'.repeat(100).concat('1 * * * *') }),
      '422 validation_failed config.trigger_config.cron_schedule',
    ],
    ...['', 'Mars/Olympus', '+01:00', 'CEST', '../UTC'].map((timezone): [object, string] => [
      trigger('scheduled', { cron_schedule: '0 9 * * *', timezone }),
      '400 invalid_format config.trigger_config.timezone',
    ]),
    [
      trigger('scheduled', { cron_schedule: '0 9 * * *', event_filters: ['email.received'] }),
      '422 validation_failed config.trigger_config.event_filters',
    ],

    [{ trigger_type: 'event' }, '400 missing_field config.trigger_config.event_filters'],
    [trigger('event', {}), '400 missing_field config.trigger_config.event_filters'],
    [trigger('event', { event_filters: null }), '400 missing_field config.trigger_config.event_filters'],
    [trigger('event', { event_filters: [] }), '422 validation_failed config.trigger_config.event_filters'],
    [
      trigger('event', { event_filters: ['email.received', 'participant.added'] }),
      '422 validation_failed config.trigger_config.event_filters[1]',
    ],
    [
      trigger('event', { event_filters: ['email.received', 'message.created', 'email.received'] }),
      '422 validation_failed config.trigger_config.event_filters[2]',
    ],
    [
      trigger('event', { event_filters: ['email.received'], timezone: 'UTC' }),
      '422 validation_failed config.trigger_config.timezone',
    ],
    [
      trigger('event', { event_filters: 'email.received' }),
      '400 invalid_format config.trigger_config.event_filters',
    ],
    ...['manual', 'chat'].flatMap((type): [object, string][] => [
      [
        trigger(type, { cron_schedule: '* * * * *' }),
        '422 validation_failed config.trigger_config.cron_schedule',
      ],
      [
        trigger(type, { event_filters: ['message.created'] }),
        '422 validation_failed config.trigger_config.event_filters',
      ],
    ]),
    [trigger('manual', { every: 'hour' }), '422 validation_failed config.trigger_config.every'],

    ...[
      'send_message',
      'fetch_url',
      'nothing',
      '',
      '__proto__',
      'approve-reply-draft',
      'create-realtime-ticket',
    ].map((slug): [object, string] => [
      config({ endpoint_tool_slugs: ['list-agents', slug] }),
      '422 validation_failed config.endpoint_tool_slugs[1]',
    ]),
    [
      config({ endpoint_tool_slugs: ['*', 'send-message'] }),
      '422 validation_failed config.endpoint_tool_slugs[0]',
    ],
    [
      config({ endpoint_tool_slugs: ['send-message', '*'] }),
      '422 validation_failed config.endpoint_tool_slugs[1]',
    ],
    [config({ endpoint_tool_slugs: ['*', '*'] }), '422 validation_failed config.endpoint_tool_slugs[1]'],
    [
      config({ endpoint_tool_slugs: ['send-message', 'send-message'] }),
      '422 validation_failed config.endpoint_tool_slugs[1]',
    ],
    [config({ endpoint_tool_slugs: '*' }), '400 invalid_format config.endpoint_tool_slugs'],
    [config({ endpoint_tool_slugs: [1] }), '400 invalid_format config.endpoint_tool_slugs[0]'],
    [
      config({ endpoint_tool_review: { 'send-message': true, nothing: true } }),
      '422 validation_failed config.endpoint_tool_review.nothing',
    ],
    [config({ endpoint_tool_review: { '*': true } }), '422 validation_failed config.endpoint_tool_review.*'],
    [
      config({ endpoint_tool_review: { 'send-message': 'yes' } }),
      '400 invalid_format config.endpoint_tool_review.send-message',
    ],
    [
      config({ endpoint_tool_review: { ['x'.repeat(101)]: true } }),
      '422 validation_failed config.endpoint_tool_review',
    ],

    [tools({}), '400 missing_field config.tools[0].tool'],
    [tools({ tool: 'send-message' }), '422 validation_failed config.tools[0].tool'],
    [tools({ tool: 'read_doc' }, { tool: 'read_doc' }), '422 validation_failed config.tools[1].tool'],
    [tools({ tool: 'read_doc', slug: 'x' }), '422 validation_failed config.tools[0].slug'],
    [tools({ tool: 'read_doc', sort_order: 1.5 }), '400 invalid_format config.tools[0].sort_order'],
    [tools({ tool: 'read_doc', sort_order: 'first' }), '400 invalid_format config.tools[0].sort_order'],
    [tools({ tool: 'read_doc', require_review: 'yes' }), '400 invalid_format config.tools[0].require_review'],
    ...['', '{', 'undefined', "{'a':1}"].map((config_json): [object, string] => [
      tools({ tool: 'create_artifact' }, { tool: 'fetch_url', config_json }),
      '400 invalid_format config.tools[1].config_json',
    ]),
    [tools({ tool: 'fetch_url', config_json: {} }), '400 invalid_format config.tools[0].config_json'],
    ...[
      'null',
      '[]',
      '"text"',
      '{"hosts":[]}',
      '{"allowed_hosts":[]}',
      '{"allowed_hosts":["Example.com"]}',
      '{"allowed_hosts":["https://example.com"]}',
      '{"allowed_hosts":["a\\u0000b"]}',
      '{"max_bytes":0}',
      '{"max_bytes":"9"}',
      '{"max_bytes":1e9}',
    ].map((config_json): [object, string] => [
      tools({ tool: 'fetch_url', config_json }),
      '422 validation_failed config.tools[0].config_json',
    ]),
    [
      tools({ tool: 'read_doc', config_json: '{"max_bytes":1}' }),
      '422 validation_failed config.tools[0].config_json',
    ],
    [
      tools({ tool: 'fetch_url', config_json: `{}${' '.repeat(9_999)}` }),
      '422 validation_failed config.tools[0].config_json',
    ],

    [{ role_id: 5 }, '400 invalid_format role_id'],
    [{ role_id: newId('role') }, '404 resource_not_found role_id'],
    [{ role_id: 'viewer' }, '404 resource_not_found role_id'],
  ];
  for (const [fields, expected] of refused) {
    const answer = await app.call('POST', AGENTS, { body: agentBody(fields) });
    t.equal(refusalOf(answer), expected, JSON.stringify(fields).slice(0, 120));
  }
  const unread = await app.call('POST', `${AGENTS}?include[]=model`, { body: agentBody() });
  t.equal(refusalOf(unread), '400 parameter_invalid include[]');
  const unknown = await app.call('POST', `${AGENTS}?q=a`, { body: agentBody() });
  t.equal(refusalOf(unknown), '400 parameter_unknown q');
});

t.test('a slug belongs to one agent of an account, also of two made at once', async (t) => {
  const post = (options: CallOptions = {}) =>
    app.call('POST', AGENTS, { body: agentBody({ slug: 'taken' }), ...options });
  const both = await Promise.all([post(), post({ token: grace.access_token })]);
  const refused = both.filter(({ status }) => status !== 201);
  t.strictSame(refused.map(refusalOf), ['409 resource_exists slug']);
  t.match(refused[0]?.body.error.doc_url, /#resource_conflict$/);
  t.equal(refusalOf(await post()), '409 resource_exists slug');
  t.equal((await post(asNeighbour(app))).status, 201, 'another account has slugs of its own');
  const actors = await database.kysely
    .selectFrom('actors')
    .select('id')
    .where('account_id', '=', demo.account_id)
    .where('type', '=', 'agent')
    .where('id', 'not in', (agents) => agents.selectFrom('agent_definitions').select('actor_id'))
    .execute();
  t.strictSame(actors, [], 'what was refused left nothing');
});

t.test('a role no higher than the caller’s own rights', async (t) => {
  const [admin, member, viewer] = [await roleOf('admin'), await roleOf('member'), await roleOf('viewer')];
  const writer = await newRole(['messaging:read', 'messaging:update', 'messaging:send_external']);
  const post = (role_id: string, token: string) =>
    app.call('POST', AGENTS, { body: agentBody({ role_id }), token });
  for (const role of [admin, writer]) {
    t.equal(
      refusalOf(await post(role.id, grace.access_token)),
      '403 insufficient_permissions null',
      role.name,
    );
  }
  for (const role of [member, viewer, agentRole]) {
    t.equal((await post(role.id, grace.access_token)).status, 201, role.name);
  }
  for (const role of [admin, writer]) t.equal((await post(role.id, ada.access_token)).status, 201, role.name);

  // Another account's role is one that there is not.
  const foreign = await findRole(database, demo.other_account.account_id, 'viewer');
  const [ofOther, absent] = [
    await post(foreign.id, ada.access_token),
    await post(newId('role'), ada.access_token),
  ];
  t.equal(refusalOf(ofOther), '404 resource_not_found role_id');
  t.equal(textOf(ofOther), textOf(absent));
});

t.test(
  'the plan’s limit: the error contains the quota, and of two concurrent requests for the last place one fails',
  async (t) => {
    const neighbour = asNeighbour(app);
    const ids: string[] = [];
    const taken = await countOf(demo.other_account.account_id);
    for (let n = taken; n < 4; n++) ids.push((await createdAgent(app, {}, neighbour)).id);

    // One transaction is taking the last place: a second one waits for its outcome.
    const second = await database.transaction(async (tx) => {
      const account_id = demo.other_account.account_id;
      await insertAgent(tx, {
        account_id,
        name: 'First',
        slug: 'first',
        category_code: 'support',
        trigger_type: 'manual',
      });
      await requireRoom(tx, account_id);
      let answered = false;
      const answer = app.call('POST', AGENTS, { body: agentBody(), ...neighbour }).finally(() => {
        answered = true;
      });
      await until(async () => answered || (await someoneWaits()), { what: 'the second one to wait' });
      t.notOk(answered);
      return { answer };
    });
    t.equal(refusalOf(await second.answer), '403 limit_exceeded null');
    t.equal(await countOf(demo.other_account.account_id), 5);
    const refused = await app.call('POST', AGENTS, { body: agentBody(), ...neighbour });
    t.equal(refused.status, 403);
    t.strictSame(refused.body, {
      error: {
        code: 'limit_exceeded',
        type: 'invalid_request_error',
        message: refused.body.error.message,
        param: null,
        doc_url: '/docs/api/errors#limit_exceeded',
        is_transient: false,
        quota: { limit: 5, used: 5, reset_at: null },
        request_log_url: null,
      },
    });

    accepted(await app.call('DELETE', `${AGENTS}/${ids[0]}`, neighbour));
    t.equal(
      (await app.call('POST', AGENTS, { body: agentBody(), ...neighbour })).status,
      201,
      'deleted: room again',
    );
    await database.kysely
      .updateTable('accounts')
      .set({ plan: 'pro' })
      .where('id', '=', demo.other_account.account_id)
      .execute();
    t.equal(
      (await app.call('POST', AGENTS, { body: agentBody(), ...neighbour })).status,
      201,
      'a larger plan',
    );
  },
);

t.test('an Idempotency-Key makes one agent, and its answer comes again as it was', async (t) => {
  const body = agentBody({ role_id: agentRole.id });
  const headers = { 'Idempotency-Key': 'one-agent' };
  const post = (fields: object = {}) =>
    app.call('POST', `${AGENTS}?include[]=config&include[]=role`, { body: { ...body, ...fields }, headers });
  const [first, again] = [await post(), await post()];
  t.equal(first.status, 201);
  t.equal(first.headers.get('Idempotent-Replayed'), null);
  t.strictSame([again.status, again.text], [first.status, first.text]);
  t.equal(again.headers.get('Idempotent-Replayed'), 'true');
  t.match((await post({ name: 'Another' })).body.error, {
    code: 'validation_failed',
    type: 'idempotency_error',
  });
});

t.test('creating an agent requires its permission', async (t) => {
  const post = async (token: string | undefined) => {
    const headers = token === undefined ? { Authorization: undefined } : {};
    return app.call('POST', AGENTS, { body: agentBody(), headers, ...(token && { token }) });
  };
  t.equal(refusalOf(await post(undefined)), '401 invalid_credentials Authorization');
  t.equal(refusalOf(await post(vera.access_token)), '403 insufficient_permissions null');
  t.equal(refusalOf(await post(demo.customer.access_token)), '403 insufficient_permissions null');
  t.equal(refusalOf(await post(await app.tokenOf(demo.agent.actor_id))), '403 insufficient_permissions null');
  t.equal((await post(grace.access_token)).status, 201);

  const { id: roleId } = await newRole(['agents:create']);
  const maker = await createdAgent(app, { role_id: roleId });
  const { actor_id } = await database.kysely
    .selectFrom('agent_definitions')
    .select('actor_id')
    .where('id', '=', maker.id)
    .executeTakeFirstOrThrow();
  const token = await app.tokenOf(actor_id);
  t.equal((await post(token)).status, 201, 'an agent whose role lets it');
  const above = await app.call('POST', AGENTS, { body: agentBody({ role_id: agentRole.id }), token });
  t.equal(refusalOf(above), '403 insufficient_permissions null', 'within its own rights');

  const reader = await database.transaction(async (tx) => {
    const role = await createRole(tx, {
      accountId: demo.account_id,
      name: 'agents:read alone',
      permissions: ['agents:read', 'agents:update', 'agents:run'],
    });
    return createUser(tx, {
      accountId: demo.account_id,
      name: 'Reader',
      email: 'reader@example.com',
      roleId: role.id,
    });
  });
  t.equal(refusalOf(await post(await app.tokenOf(reader.user.id))), '403 insufficient_permissions null');
});

function roleOf(name: string) {
  return findRole(database, demo.account_id, name);
}

function newRole(permissions: readonly Permission[]) {
  const name = permissions.join(' ');
  return database.transaction((tx) => createRole(tx, { accountId: demo.account_id, name, permissions }));
}

/** For a lock that another transaction holds. */
async function someoneWaits(): Promise<boolean> {
  const { rows } = await sql`
    SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(database.kysely);
  return rows.length > 0;
}

async function countOf(accountId: string): Promise<number> {
  const rows = await database.kysely
    .selectFrom('agent_definitions')
    .select('id')
    .where('account_id', '=', accountId)
    .execute();
  return rows.length;
}
