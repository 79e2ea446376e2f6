/** List Tools (docs/contract.md#tools) over HTTP, on a whole server. */

import type { List } from '@parley/protocol/lists.ts';
import type { AvailableTool } from '@parley/protocol/resources/available-tool.ts';
import t from 'tap';
import { borrowTestApp, refusalOf } from '../support/app.ts';
import { accepted } from './bodies.ts';

const app = await borrowTestApp(t);
const { demo } = app;
const PATH = '/v1/ai/tools';

type Page = List<AvailableTool>;

t.test('the built-in tools, with the schema of their configuration', async (t) => {
  const page = await read('category=built_in');
  const bytes = { type: 'integer', minimum: 1, maximum: 1_048_576, default: 1_048_576 };
  const builtIn = (slug: string, mutating: boolean, properties: object) => ({
    id: `tool_${slug}`,
    object: 'available_tool',
    slug,
    name: page.data.find((tool) => tool.slug === slug)?.name,
    description: page.data.find((tool) => tool.slug === slug)?.description,
    category: 'built_in',
    mutating,
    config_schema: { type: 'object', properties, additionalProperties: false },
  });
  t.strictSame(page, {
    object: 'list',
    page_info: { next_page_url: null, previous_page_url: null, has_next_page: false, has_prev_page: false },
    data: [
      builtIn('create_artifact', true, { max_bytes: bytes }),
      builtIn('fetch_url', false, {
        allowed_hosts: {
          type: 'array',
          items: {
            type: 'string',
            pattern: '^(\\*\\.)?([a-z0-9]([a-z0-9-]*[a-z0-9])?\\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?$',
            maxLength: 253,
          },
          minItems: 1,
          maxItems: 50,
          description:
            'Hosts that it may reach, such as example.com or *.example.com; without: every public one.',
        },
        max_bytes: bytes,
      }),
      builtIn('read_doc', false, {}),
    ],
  });
  for (const { name, description } of page.data) t.ok(name && description, name);
  t.match(
    page.data.find(({ slug }) => slug === 'read_doc')?.description,
    /artifact of the account, or an attachment/,
  );
});

t.test('a tool for each endpoint that is open to agents', async (t) => {
  const { data } = await read('category=api_endpoint&limit=100');
  t.strictSame(
    data.find(({ slug }) => slug === 'send-message'),
    {
      id: 'tool_send-message',
      object: 'available_tool',
      slug: 'send-message',
      name: 'Send message',
      description: 'Send a message to a conversation',
      category: 'api_endpoint',
      mutating: true,
      config_schema: { type: 'object', properties: {}, additionalProperties: false },
    },
  );
  const mutating = new Map(data.map((tool) => [tool.slug, tool.mutating]));
  t.match(Object.fromEntries(mutating), {
    'list-notifications': false,
    'list-messages': false,
    'create-agent': true,
    'update-agent': true,
    'delete-agent': true,
    'get-agent': false,
    'list-tools': false,
  });
  t.notOk(mutating.has('create-realtime-ticket'), 'tickets are closed to agents');
  t.notOk(mutating.has('create-upload-url'), 'what shows a secret would leave it in a run');
  t.equal(new Set(data.map(({ id }) => id)).size, data.length);
});

t.test('whatever is listed can be granted', async (t) => {
  const { data } = await read('category=api_endpoint&limit=100');
  const slugs = data.map(({ slug }) => slug);
  const body = {
    name: 'Everything',
    slug: 'everything',
    category_code: 'test',
    trigger_type: 'manual',
    config: {
      endpoint_tool_slugs: slugs,
      endpoint_tool_review: Object.fromEntries(slugs.map((slug) => [slug, true])),
    },
  };
  const answer = await app.call('POST', '/v1/ai/agents', { body });
  t.equal(answer.status, 201, answer.text);
});

t.test('pages, forth and back, in the order of the slugs', async (t) => {
  const all = (await read('limit=100')).data;
  t.strictSame(
    all.map(({ slug }) => slug),
    all.map(({ slug }) => slug).sort(),
  );
  t.equal(all.length, (await read('category=api_endpoint&limit=100')).data.length + 3);
  let page = await read('limit=3');
  t.equal(page.page_info.previous_page_url, null);
  const forth = [...page.data];
  while (page.page_info.next_page_url !== null) {
    page = await follow(page.page_info.next_page_url);
    t.ok(page.data.length > 0 && page.data.length <= 3);
    forth.push(...page.data);
  }
  t.strictSame(forth, all);
  const back = page.data.toReversed();
  while (page.page_info.previous_page_url !== null) {
    page = await follow(page.page_info.previous_page_url);
    back.push(...page.data.toReversed());
  }
  t.strictSame(back, all.toReversed());
});

t.test('q: in slug, name and description, case ignored', async (t) => {
  const slugs = async (query: string) => (await read(query)).data.map(({ slug }) => slug);
  t.strictSame(await slugs('q=FETCH_'), ['fetch_url']);
  t.strictSame(await slugs('search=send%20message'), ['send-message']);
  t.strictSame(await slugs('q=public%20web%20page'), ['fetch_url']);
  t.strictSame(await slugs('q=fetch&category=api_endpoint'), []);
  t.strictSame(await slugs('q=%25'), []);
});

t.test('parameters that are refused, and permissions', async (t) => {
  const { page_info } = await read('limit=1');
  const cursor = new URL(page_info.next_page_url!, app.baseUrl).searchParams.get('cursor');
  const refused: [query: string, expected: string][] = [
    ['category=endpoint', '400 parameter_invalid category'],
    ['category=', '400 parameter_invalid category'],
    ['limit=0', '400 parameter_invalid limit'],
    ['cursor=x', '400 parameter_invalid cursor'],
    [`cursor=${cursor}&category=built_in`, '400 parameter_invalid cursor'],
    ['include[]=config', '400 parameter_unknown include[]'],
  ];
  for (const [query, expected] of refused) {
    t.equal(refusalOf(await app.call('GET', `${PATH}?${query}`)), expected, query);
  }
  const forbidden = '403 insufficient_permissions null';
  t.equal(refusalOf(await app.call('GET', PATH, { token: demo.users.vera.access_token })), forbidden);
  t.equal(refusalOf(await app.call('GET', PATH, { token: demo.customer.access_token })), forbidden);
  t.equal((await app.call('GET', PATH, { token: demo.users.grace.access_token })).status, 200);
  const anonymous = await app.call('GET', PATH, { headers: { Authorization: undefined } });
  t.equal(refusalOf(anonymous), '401 invalid_credentials Authorization');
  const old = await app.call('GET', PATH, { headers: { 'Service-Version': '1.0.harbor' } });
  t.equal(refusalOf(old), '400 api_version_too_old Service-Version');
});

function read(query: string): Promise<Page> {
  return follow(`${PATH}?${query}`);
}

async function follow(url: string): Promise<Page> {
  return accepted(await app.call<Page>('GET', url));
}

t.test('OpenAPI and the page of agents name the slug of each endpoint', async (t) => {
  const { paths } = (await (await fetch(`${app.baseUrl}/v1/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { operationId: string; 'x-tool-slug'?: string }>>;
  };
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const slugs = operations.flatMap((operation) => operation['x-tool-slug'] ?? []).sort();
  const listed = (await read('category=api_endpoint&limit=100')).data.map(({ slug }) => slug);
  t.strictSame(slugs, listed);
  const page = await (await fetch(`${app.baseUrl}/docs/agents`)).text();
  for (const slug of slugs) t.ok(page.includes(`<code>${slug}</code>`), slug);
  const send = operations.find(({ operationId }) => operationId === 'send_message');
  t.equal(send?.['x-tool-slug'], 'send-message');
});
