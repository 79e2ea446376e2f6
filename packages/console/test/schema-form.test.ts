/** What forms and pages make of the contract, and of what was typed. */

import './english.ts';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { changesOf, type Draft, draftOf, newBody } from '@parley/ui/form/draft.ts';
import type { JsonSchema } from '@parley/ui/form/json-schema.ts';
import { labelOf, sentenceOf } from '@parley/ui/form/labels.ts';
import { fieldFor, problemsOf } from '@parley/ui/form/problems.ts';
import { type Shape, shapeOf } from '@parley/ui/form/shape.ts';
import t from 'tap';
import { ROOT } from '../../../test/start/parley.ts';
import { startTestApp } from '../../../test/support/app.ts';
import { ApiDocument, filled, type OpenApi } from '../administration/api-document.ts';
import { contradiction, verdictOn } from '../administration/parts/audit-proof.ts';

const app = await startTestApp(t);
const api = new ApiDocument((await (await fetch(`${app.baseUrl}/v1/openapi.json`)).json()) as OpenApi);

/** The shape of the body of an operation. */
function bodyOf(id: string): Shape {
  return shapeOf(api.operation(id)!.body!, api.resolve);
}

function kindsOf(shape: Shape): Record<string, unknown> {
  if (shape.kind !== 'group') return {};
  return Object.fromEntries(
    shape.fields.map(({ name, shape: part }) => [name, part.kind === 'group' ? kindsOf(part) : part.kind]),
  );
}

function fieldOf(shape: Shape, name: string): Shape {
  if (shape.kind !== 'group') throw new Error('This is no object.');
  return shape.fields.find((field) => field.name === name)!.shape;
}

const nothing = (shape: Shape) => draftOf(shape, undefined) as Record<string, Draft>;

t.test('each kind of field of the contract has its control', async (t) => {
  t.strictSame(kindsOf(bodyOf('create_agent')), {
    name: 'text',
    slug: 'text',
    description: 'long',
    category_code: 'text',
    trigger_type: 'one',
    config: {
      system_prompt: 'long',
      tier: 'one',
      temperature: 'number',
      trigger_config: { cron_schedule: 'text', timezone: 'text', event_filters: 'items' },
      endpoint_tool_slugs: 'items',
      endpoint_tool_review: 'map',
      tools: 'items',
    },
    role_id: 'text',
    external_id: 'text',
  });
  t.match(kindsOf(bodyOf('create_identity_provider')), {
    audience: 'items',
    secret: 'secret',
    client_secret: 'secret',
    algorithms: 'many',
    claims: { subject: 'text' },
  });
  t.match(kindsOf(bodyOf('create_api_key')), { expires_at: 'time' });
  t.match(kindsOf(bodyOf('create_webhook')), { url: 'text', event_types: 'items', include_direct: 'flag' });
  t.match(kindsOf(bodyOf('trigger_agent_run')), { input: 'json' });
  t.match(kindsOf(bodyOf('create_user')), { metadata: 'map' });
  t.match(kindsOf(bodyOf('create_role')), { permissions: 'many' });
  t.equal(fieldOf(bodyOf('set_retention_policy'), 'runs_days').nullable, true);
  t.equal(fieldOf(bodyOf('create_user'), 'name').nullable, false);
});

t.test('an answer behind a reference, one that may be null, and one with a description', async (t) => {
  const part: JsonSchema = { type: 'object', properties: { a: { type: 'string' } } };
  const resolve = () => part;
  for (const schema of [
    { $ref: '#/components/schemas/part' },
    { description: 'Said here.', allOf: [{ $ref: '#/components/schemas/part' }] },
    { anyOf: [{ $ref: '#/components/schemas/part' }, { type: 'null' }] },
  ] satisfies JsonSchema[]) {
    t.equal(shapeOf(schema, resolve).kind, 'group', JSON.stringify(schema));
  }
  t.equal(shapeOf({ anyOf: [part, { type: 'null' }] }, resolve).nullable, true);
  t.equal(shapeOf({ allOf: [{ $ref: 'x' }], description: 'Said here.' }, resolve).help, 'Said here.');
  const loop: JsonSchema = { type: 'object', properties: { again: { $ref: 'loop' } } };
  t.equal(shapeOf(loop, () => loop).kind, 'group', 'a schema within itself ends');
});

t.test('helps leave out what only programmers read', async (t) => {
  const { help } = fieldOf(bodyOf('create_user'), 'external_id');
  t.notMatch(help, /Since version/);
  t.match(help, /^The id that your own application has for it/);
  t.notMatch(fieldOf(bodyOf('create_inbox'), 'group_id').help, /external id is taken/i);
});

t.test('a new body has what was filled in, and what is required', async (t) => {
  const user = bodyOf('create_user');
  t.strictSame(newBody(user, { ...nothing(user), name: 'Ida', email: 'ida@example.com', role_id: 'rol_1' }), {
    name: 'Ida',
    email: 'ida@example.com',
    role_id: 'rol_1',
  });
  const agent = bodyOf('create_agent');
  t.strictSame(newBody(agent, { ...nothing(agent), name: 'A' }), {
    name: 'A',
    category_code: '',
    config: {},
    slug: '',
    trigger_type: '',
  });
  const config = draftOf(fieldOf(agent, 'config'), { temperature: 0.5, tools: [{ tool: 'fetch_url' }] });
  t.match(newBody(agent, { ...nothing(agent), config }), {
    config: { temperature: 0.5, tools: [{ tool: 'fetch_url' }] },
  });
  const policy = bodyOf('set_retention_policy');
  t.strictSame(newBody(policy, { ...nothing(policy), runs_days: '30' }), {
    messages_days: null,
    files_days: null,
    notifications_days: null,
    audit_days: null,
    runs_days: 30,
  });
  const role = bodyOf('create_role');
  t.strictSame(newBody(role, { ...nothing(role), name: 'R' }), { name: 'R', permissions: [] });
  const key = bodyOf('create_api_key');
  const { expires_at } = newBody(key, { ...nothing(key), expires_at: '2030-01-02T03:04' }) as {
    readonly expires_at: string;
  };
  t.equal(new Date(expires_at).getTime(), new Date('2030-01-02T03:04').getTime());
});

t.test('what a form shows is what it sends again', async (t) => {
  const shape = bodyOf('create_agent');
  const value = {
    name: 'A',
    slug: 'a',
    category_code: 'c',
    trigger_type: 'event',
    config: {
      temperature: 0,
      trigger_config: { event_filters: ['order.created', 'order.paid'] },
      endpoint_tool_review: { 'send-message': true, 'list-users': false },
      tools: [{ tool: 'read_doc', sort_order: 1, require_review: false }],
    },
  };
  t.strictSame(newBody(shape, draftOf(shape, value)), value);
});

t.test('a change has what differs alone', async (t) => {
  const shape = bodyOf('update_user');
  const before = draftOf(shape, {
    name: 'Ida',
    role_id: 'rol_1',
    external_id: 'x',
    metadata: { a: '1', b: '2' },
  });
  const draft = before as Record<string, Draft>;
  t.strictSame(changesOf(shape, before, before), {});
  t.strictSame(changesOf(shape, { ...draft, name: 'Eva' }, before), { name: 'Eva' });
  t.strictSame(changesOf(shape, { ...draft, external_id: '' }, before), { external_id: null });
  t.strictSame(changesOf(shape, { ...draft, name: '' }, before), { name: '' }, 'the server says why not');
  const metadata = [
    { key: 'a', value: '1' },
    { key: 'c', value: '3' },
  ];
  t.strictSame(changesOf(shape, { ...draft, metadata }, before), { metadata: { c: '3', b: null } });
  const role = bodyOf('update_role');
  const roleBefore = draftOf(role, { name: 'R', permissions: ['users:read'] });
  t.strictSame(changesOf(role, { ...(roleBefore as object), permissions: [] }, roleBefore), {
    permissions: [],
  });
});

t.test('a nested object is sent as a whole, with null for what was emptied', async (t) => {
  const shape = bodyOf('update_agent');
  const before = draftOf(shape, {
    name: 'A',
    config: { system_prompt: 'Be kind.', temperature: 0.5, endpoint_tool_slugs: ['*'] },
  }) as Record<string, Draft>;
  const config = { ...(before.config as object), system_prompt: '', endpoint_tool_slugs: [] };
  t.strictSame(changesOf(shape, { ...before, config }, before), {
    config: { temperature: 0.5, system_prompt: null, endpoint_tool_slugs: [] },
  });
});

t.test('what the page itself can say', async (t) => {
  const user = bodyOf('create_user');
  t.strictSame([...problemsOf(user, nothing(user)).keys()], ['name', 'role_id']);
  const agent = bodyOf('create_agent');
  const config = draftOf(fieldOf(agent, 'config'), { tools: [{ tool: 'read_doc' }, {}] });
  const draft = { ...nothing(agent), config: { ...(config as object), temperature: 'warm' } };
  t.match(
    problemsOf(agent, draft),
    new Map([
      ['config.temperature', 'This must be a number.'],
      ['config.tools[1].tool', 'This is required.'],
    ]),
  );
  const run = bodyOf('trigger_agent_run');
  t.strictSame([...problemsOf(run, { input: '{' }).keys()], ['input']);
  t.equal(problemsOf(run, { input: '' }).size, 0);
  t.equal(problemsOf(bodyOf('create_role'), { name: 'R', permissions: [] }).size, 0, 'a list may be empty');
});

t.test('a refusal of the server stands at the field that it names, or at the nearest', async (t) => {
  const agent = bodyOf('create_agent');
  const config = draftOf(fieldOf(agent, 'config'), { tools: [{ tool: 'read_doc' }] });
  const draft = { ...nothing(agent), config };
  for (const [param, field] of [
    ['slug', 'slug'],
    ['config.trigger_config.cron_schedule', 'config.trigger_config.cron_schedule'],
    ['config.tools[0].tool', 'config.tools[0].tool'],
    ['config.tools[7].tool', 'config.tools'],
    ['config.endpoint_tool_slugs[3]', 'config.endpoint_tool_slugs'],
    ['metadata.plan', undefined],
    ['Service-Account', undefined],
    [null, undefined],
  ] as const) {
    t.equal(fieldFor(agent, draft, param), field, String(param));
  }
});

t.test('names are read as words', async (t) => {
  const labels = ['role_id', 'created_at', 'external_id', 'jwks_url', 'event_types', 'id', 'cost_usd'];
  t.strictSame(labels.map(labelOf), [
    'Role',
    'Created',
    'External ID',
    'JWKS URL',
    'Event types',
    'ID',
    'Cost USD',
  ]);
  t.equal(sentenceOf('awaiting_upload'), 'Awaiting upload');
});

t.test('operations have their permission, and their paths are filled in order', async (t) => {
  t.equal(api.operation('create_user')?.permission, 'users:create');
  t.equal(api.operation('get_me')?.permission, undefined);
  const { path } = api.operation('redeliver_webhook_delivery')!;
  t.equal(filled(path, ['whk_1', 'a/b']), '/v1/webhooks/whk_1/deliveries/a%2Fb/actions/redeliver');
});

t.test('every operation that the administration names is one of the contract', async (t) => {
  const files = readdirSync(join(ROOT, 'packages/console'), { recursive: true, encoding: 'utf8' });
  const text = files
    .filter((path) => basename(path).startsWith('sections.ts'))
    .map((path) => readFileSync(join(ROOT, 'packages/console', path), 'utf8'))
    .join('\n');
  const named = [...text.matchAll(/\b(?:list|get|create|update|operation): '([a-z_]+)'/g)].map(
    ([, id]) => id!,
  );
  const missing = named.filter((id) => api.operation(id) === undefined && !NOT_YET.has(id));
  t.strictSame(missing, []);
  t.ok(named.length > 60, `${named.length}`);
});

/** Offered once the server has them. */
const NOT_YET: ReadonlySet<string> = new Set([
  'list_widgets',
  'get_widget',
  'create_widget',
  'update_widget',
  'delete_widget',
  'create_invitation',
]);

t.test('the head of the audit is verified, and compared with one that was kept', async (t) => {
  const { body: head } = await app.call<Parameters<typeof verdictOn>[0]>('GET', '/v1/account/audit/head', {
    headers: { 'Service-Version': '1.2.harbor' },
  });
  t.equal(await verdictOn(head), 'valid');
  t.equal(await verdictOn({ ...head, number: head.number + 1 }), 'invalid');
  const forged = head.signature.replace(/^./, (first) => (first === '_' ? '-' : '_'));
  t.equal(await verdictOn({ ...head, signature: forged }), 'invalid');
  t.equal(await verdictOn({ ...head, public_key: 'x' }), 'invalid');
  t.equal(contradiction({ number: 5, hash: 'b' }, { number: 4, hash: 'a' }), undefined);
  t.equal(contradiction({ number: 4, hash: 'a' }, { number: 4, hash: 'a' }), undefined);
  t.match(contradiction({ number: 3, hash: 'a' }, { number: 4, hash: 'a' }), /were cut/);
  t.match(contradiction({ number: 4, hash: 'b' }, { number: 4, hash: 'a' }), /written again/);
});
