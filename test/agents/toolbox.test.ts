/**
 * The tools that result from an agent's settings and the catalogue, and the validation of a call's
 * arguments.
 */

import { Body, Id, Nullable } from '@parley/protocol/schema/schema.ts';
import t from 'tap';
import { Type } from 'typebox';
import { Rights } from '../../src/api/access/rights.ts';
import { FileStore } from '../../src/core/attachments/file-store.ts';
import { FileUrls } from '../../src/core/attachments/file-urls.ts';
import { ConversationDirectory } from '../../src/core/conversations/directory/directory.ts';
import type { EndpointCaller } from '../../src/core/endpoint-tools/endpoint-call.ts';
import type { EndpointFacts } from '../../src/core/endpoint-tools/endpoint-facts.ts';
import type { AttachedTool } from '../../src/core/tables/agent-tables.ts';
import { ToolCatalogue } from '../../src/features/agents/tools/catalogue.ts';
import { ToolRefusal } from '../../src/features/agents/tools/tool.ts';
import { parseArguments, Toolbox } from '../../src/features/agents/tools/toolbox.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import { AddressGuard } from '../../src/platform/outbound/address-guard.ts';
import { GuardedFetch } from '../../src/platform/outbound/guarded-fetch.ts';
import { openTestDatabase } from '../access/rows.ts';
import { freshDirectory } from '../start/parley.ts';
import { toolContext } from './tools.ts';

const ENDPOINTS: readonly EndpointFacts[] = [
  {
    name: 'move_ship',
    method: 'POST',
    path: '/v1/ships/:id/berths/:berth',
    permission: 'ships:update',
    summary: 'Move a ship',
    since: '1.1.harbor',
    query: Body({ 'include[]': Type.Optional(Type.Array(Type.String())), dry: Type.Boolean() }),
    body: Body({
      to: Id,
      draught: Type.Optional(Type.Number({ minimum: 0 })),
      note: Type.Optional(Nullable(Type.String())),
      crew: Type.Optional(
        Type.Unsafe({
          type: 'object',
          discriminator: { propertyName: 'kind' },
          required: ['kind'],
          oneOf: [Body({ kind: Type.Literal('a') }), Body({ kind: Type.Literal('b') })],
        }),
      ),
    }),
  },
  {
    name: 'list_ships',
    method: 'GET',
    path: '/v1/ships',
    summary: 'List ships',
    since: '1.1.harbor',
    permission: null,
    query: Body({
      q: Type.Optional(Type.String()),
      search: Type.Optional(Type.String({ deprecated: true })),
    }),
  },
  {
    name: 'create_agent',
    method: 'POST',
    path: '/v1/ai/agents',
    summary: 'Create',
    since: '1.1.harbor',
    permission: 'agents:create',
  },
  {
    name: 'update_agent',
    method: 'PATCH',
    path: '/v1/ai/agents/:id',
    summary: 'Update',
    since: '1.1.harbor',
    permission: 'agents:update',
  },
  {
    name: 'get_port',
    method: 'GET',
    path: '/v1/port',
    summary: 'Get the port',
    since: '1.1.harbor',
    permission: 'ships:read',
  },
  {
    name: 'create_key',
    method: 'POST',
    path: '/v1/keys',
    summary: 'A key',
    since: '1.1.harbor',
    permission: null,
    agents: false,
  },
  {
    name: 'create_url',
    method: 'POST',
    path: '/v1/urls',
    summary: 'A URL',
    since: '1.1.harbor',
    permission: null,
    secret: true,
  },
];

const database = await openTestDatabase(t);
const rights = await Rights.open(new MemoryEngine());
t.teardown(() => rights.close());
const asked: Parameters<EndpointCaller['call']>[0][] = [];
let answer = { status: 200, text: '{"object":"ship"}' };
const toolbox = new Toolbox({
  database,
  store: new FileStore({
    directory: freshDirectory(t),
    urls: new FileUrls({ secret: 'a', baseUrl: () => '' }),
  }),
  directory: new ConversationDirectory(database, rights),
  catalogue: new ToolCatalogue(() => ENDPOINTS),
  caller: {
    call: async (request) => {
      asked.push(request);
      return answer;
    },
  },
  web: new GuardedFetch(new AddressGuard({ allow: [] })),
});

t.test('only attached and granted tools are offered', async (t) => {
  const tools = [attached('read_doc'), attached('fetch_url', 'required'), attached('create_artifact')];
  const shown = (slugs: string[], review: Record<string, boolean> = {}) =>
    toolbox
      .toolsFor({ tools, endpoint_tool_slugs: slugs, endpoint_tool_review: review })
      .map(({ slug, category, needsReview }) => [slug, category, needsReview]);
  const builtIn = [
    ['read_doc', 'built_in', false],
    ['fetch_url', 'built_in', true],
    ['create_artifact', 'built_in', true],
  ];
  t.strictSame(shown([]), builtIn, 'what is mutating waits whatever is said');
  t.strictSame(
    shown(['get-port', 'move-ship', 'gone', 'create-key'], { 'move-ship': true, 'get-port': false }),
    [...builtIn, ['get-port', 'api_endpoint', false], ['move-ship', 'api_endpoint', true]],
  );
  t.strictSame(shown(['*'], { 'list-ships': true, 'update-agent': false }).slice(3), [
    ['create-agent', 'api_endpoint', true],
    ['get-port', 'api_endpoint', false],
    ['list-ships', 'api_endpoint', true],
    ['move-ship', 'api_endpoint', false],
    ['update-agent', 'api_endpoint', true],
  ]);
});

t.test('an endpoint is shown to models as a tool', async (t) => {
  const id = { type: 'string', minLength: 1, maxLength: 200 };
  t.strictSame(tool('move-ship').spec, {
    name: 'move-ship',
    description: 'Move a ship. POST /v1/ships/:id/berths/:berth',
    parameters: {
      type: 'object',
      properties: {
        path: {
          type: 'object',
          properties: { id, berth: id },
          required: ['id', 'berth'],
          additionalProperties: false,
        },
        query: {
          type: 'object',
          properties: { include: { type: 'array', items: { type: 'string' } }, dry: { type: 'boolean' } },
          required: ['dry'],
          additionalProperties: false,
        },
        body: {
          type: 'object',
          required: ['to'],
          properties: {
            to: { type: 'string', maxLength: 64 },
            draught: { type: 'number', minimum: 0 },
            note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
            crew: {
              type: 'object',
              required: ['kind'],
              oneOf: ['a', 'b'].map((kind) => ({
                type: 'object',
                required: ['kind'],
                properties: { kind: { type: 'string', const: kind } },
                additionalProperties: false,
              })),
            },
          },
          additionalProperties: false,
        },
      },
      required: ['path', 'query', 'body'],
      additionalProperties: false,
    },
  });
  t.strictSame(tool('get-port').spec.parameters, {
    type: 'object',
    properties: {},
    additionalProperties: false,
  });
  t.strictSame(tool('list-ships').spec.parameters, {
    type: 'object',
    properties: {
      query: { type: 'object', properties: { q: { type: 'string' } }, additionalProperties: false },
    },
    additionalProperties: false,
  });
  t.equal(tool('move-ship').spec.parameters, tool('move-ship').spec.parameters, 'one and the same for all');
});

t.test('the toolbox checks the arguments of calls', async (t) => {
  const move = { path: { id: 's', berth: '1' }, query: { dry: true }, body: { to: 'x' } };
  const refused: [args: unknown, expected: string][] = [
    ['{', 'invalid_format: Not valid JSON: it ends too early, at position 1.'],
    ['[]', 'invalid_format: Expected a JSON object.'],
    ['"x"', 'invalid_format: Expected a JSON object.'],
    ['', 'missing_field: path: This field is required.'],
    [
      '{"path":{"id":"\\u0000"}}',
      'invalid_format: path.id: Strings must not hold U+0000 or lone surrogates.',
    ],
    [{ ...move, body: {} }, 'missing_field: body.to: This field is required.'],
    [{ ...move, query: { dry: 'yes' } }, 'invalid_format: query.dry: Must be true or false.'],
    [{ ...move, path: { id: '', berth: '1' } }, 'validation_failed: path.id: Must not be empty.'],
    [{ ...move, more: 1 }, 'validation_failed: more: There is no such field here.'],
    [{ ...move, body: { to: 'x', draught: -1 } }, 'validation_failed: body.draught: Must be at least 0.'],
    [
      { ...move, body: { to: 'x', __proto__x: 1 } },
      'validation_failed: body.__proto__x: There is no such field here.',
    ],
    [`{"path":"${'x'.repeat(2_100_000)}"}`, 'validation_failed: Arguments have at most 2097152 characters.'],
  ];
  for (const [args, expected] of refused) {
    const text = typeof args === 'string' ? args : JSON.stringify(args);
    t.equal(
      refusalOf(() => parseArguments(tool('move-ship'), text)),
      expected,
    );
  }
  const nulls = { ...move, body: { to: 'x', draught: null, note: null } };
  t.strictSame(parseArguments(tool('move-ship'), JSON.stringify(nulls)), {
    ...move,
    body: { to: 'x', note: null },
  });
  t.strictSame(parseArguments(tool('get-port'), ' '), {});
  t.strictSame(parseArguments(tool('get-port'), '{}'), {});
});

t.test('the request to the API, and the output made from its response', async (t) => {
  const context = toolContext();
  const args = {
    path: { id: '../a/b?c#d', berth: 'é%2F' },
    query: { dry: false, include: ['a&b', 'c'] },
    body: { to: 'x' },
  };
  t.strictSame(await tool('move-ship').call(args, context), {
    output: { status: 200, body: { object: 'ship' } },
  });
  const { route, ...request } = asked.pop()!;
  t.equal(route.name, 'move_ship');
  t.strictSame(request, {
    path: '/v1/ships/..%2Fa%2Fb%3Fc%23d/berths/%C3%A9%252F',
    query: 'dry=false&include%5B%5D=a%26b&include%5B%5D=c',
    body: '{"to":"x"}',
    principal: context.principal,
    idempotencyKey: context.actionId,
    runId: context.runId,
    trace: undefined,
  });
  await tool('get-port').call({}, context);
  t.match(asked.pop(), { path: '/v1/port', query: '', body: '' });

  const text = JSON.stringify({ text: 'é'.repeat(40_000) });
  answer = { status: 200, text };
  const { output } = await tool('get-port').call({}, context);
  const note = `Cut off after 65536 of ${Buffer.byteLength(text)} bytes. Ask for less at once.`;
  t.strictSame(output, { status: 200, body: text.slice(0, 9 + (65_536 - 9 - 1) / 2), note });

  const refusal = { code: 'resource_not_found', message: 'no such ship', param: 'id' };
  answer = { status: 404, text: JSON.stringify({ error: refusal }) };
  await t.rejects(tool('get-port').call({}, context), {
    name: 'ToolRefusal',
    condition: 'resource_not_found',
    message: 'id: no such ship',
  });
});

function tool(slug: string) {
  const granted = { tools: [], endpoint_tool_slugs: ['*'], endpoint_tool_review: {} };
  return toolbox.toolsFor(granted).find((tool) => tool.slug === slug)!;
}

function attached(
  tool: AttachedTool['tool'],
  review_requirement: AttachedTool['review_requirement'] = 'not_required',
): AttachedTool {
  return { id: '', tool, review_requirement, config: null, sort_order: 0, created_at: '', updated_at: '' };
}

function refusalOf(run: () => unknown): string {
  try {
    return `accepted: ${JSON.stringify(run())}`;
  } catch (error) {
    if (!(error instanceof ToolRefusal)) throw error;
    return `${error.condition}: ${error.message}`;
  }
}
