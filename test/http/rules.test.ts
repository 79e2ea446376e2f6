/** Breaks every rule in the schemas of the route table once, by a request made from the schema. */

import { newId } from '@parley/protocol/ids.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import type { SchemaObject } from '../../src/api/documents/openapi/schemas.ts';
import type { Route } from '../../src/api/pipeline/route.ts';
import { createOperatorKey } from '../../src/core/accounts/installation/operator-keys.ts';
import { type CallOptions, refusalOf, startTestApp } from '../support/app.ts';
import { bodyViolations, queryViolations } from '../support/violations.ts';

const app = await startTestApp(t, { PARLEY_SOCKET_POLLS_PER_SECOND: '1000' });
const { key: operator } = await app.database.transaction((tx) => createOperatorKey(tx, { name: 'Billing' }));
const WIDTH = 8;
/** The newest version, in which every rule holds. */
const NEWEST = { 'Service-Version': NEWEST_VERSION };

t.test('query parameters follow the rules of their schemas', async (t) => {
  let broken = 0;
  for (const route of app.routes) {
    const wanted: string[] = [];
    const requests = [...queryViolations(route.query ?? {})].map(({ query, refusal }) => {
      wanted.push(`${route.name} ${refusal} <- ${query.slice(0, 60)}`);
      return { path: `${pathOf(route)}?${query}`, name: query.slice(0, 60) };
    });
    const got = await inParallel(requests, async ({ path, name }) => {
      const answer = await app.call(route.method, path, { headers: NEWEST, ...callerOf(route) });
      return `${route.name} ${refusalOf(answer)} <- ${name}`;
    });
    t.strictSame(got, wanted, route.name);
    broken += wanted.length;
  }
  t.ok(broken > app.routes.length, `${broken} rules`);
});

t.test('include[] has a bound everywhere', (t) => {
  const included = app.routes.flatMap(({ name, query }) => {
    const { properties = {} } = (query ?? {}) as { properties?: Record<string, { maxItems?: number }> };
    return properties['include[]'] === undefined ? [] : [{ name, most: properties['include[]'].maxItems }];
  });
  t.ok(included.length > 20);
  t.same(
    included.filter(({ most }) => most === undefined),
    [],
  );
  t.end();
});

t.test('request bodies follow the rules of their schemas', async (t) => {
  let broken = 0;
  for (const route of app.routes) {
    if (route.method === 'GET') continue;
    const violations = [...bodyViolations(route.body ?? { type: 'object', additionalProperties: false })];
    const got = await inParallel(violations, ({ body }) => told(route, { body }));
    t.strictSame(
      got.map((refusal, index) => `${refusal} <- ${shown(violations[index]?.body)}`),
      violations.map(({ refusal, body }) => `${refusal} <- ${shown(body)}`),
      route.name,
    );
    broken += violations.length;
  }
  t.ok(broken > app.routes.length, `${broken} rules`);
});

t.test('null in a body that changes a resource', async (t) => {
  let refused = 0;
  for (const route of app.routes.filter(({ method }) => method === 'PATCH')) {
    const { properties = {} } = route.body as { properties?: Record<string, SchemaObject> };
    const fixed = Object.keys(properties).filter((name) => !takesNull(properties[name]!));
    const got = await inParallel(fixed, (name) => told(route, { body: { [name]: null } }));
    t.strictSame(
      got,
      fixed.map((name) => `400 missing_field ${name}`),
      route.name,
    );
    refused += fixed.length;
  }
  t.ok(refused > 20, `${refused} fields`);
});

t.test('bodies that are no object, no JSON, or hold what no text may', async (t) => {
  for (const route of app.routes) {
    if (route.method === 'GET') continue;
    const texts = ['[]', '"x"', 'null', '{', '{"a":', `{"a":"${'\\u0000'}"}`, `{"a":"${'\\ud800'}"}`];
    const got = await inParallel(texts, (rawBody) => told(route, { rawBody }));
    t.strictSame(
      got,
      [...Array(5).fill('400 invalid_format null'), ...Array(2).fill('400 invalid_format a')],
      route.name,
    );
  }
});

async function told(route: Route, options: CallOptions): Promise<string> {
  const call = { headers: NEWEST, ...callerOf(route), ...options };
  return refusalOf(await app.call(route.method, pathOf(route), call));
}

/** To others than operators, their endpoints are not there. */
function callerOf({ operators }: Route): CallOptions {
  return operators === undefined ? {} : { token: operator };
}

function takesNull({ type, anyOf = [] }: SchemaObject): boolean {
  return type === 'null' || anyOf.some(takesNull);
}

/** Ids that nothing has: rules of schemas come before anything is looked for. */
function pathOf({ path }: Route): string {
  return path.replaceAll(/:\w+/g, () => newId('message'));
}

async function inParallel<A, B>(items: readonly A[], run: (item: A) => Promise<B>): Promise<B[]> {
  const results: B[] = [];
  let next = 0;
  const work = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await run(items[index]!);
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, work));
  return results;
}

function shown(body: unknown): string {
  const text = JSON.stringify(body);
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}
