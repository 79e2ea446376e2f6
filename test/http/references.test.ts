/**
 * A resource names what it can expand, so that a reader that expands nothing still knows it
 * (docs/how-to.md).
 */

import { derivedId, newId, timedId } from '@parley/protocol/ids.ts';
import t from 'tap';
import type { SchemaObject } from '../../src/api/documents/openapi/schemas.ts';
import { borrowTestApp } from '../support/app.ts';

const { routes, call } = await borrowTestApp(t);

/** Made anew for each reader from what that reader may see, and not a reference of the resource. */
const COMPUTED = ['conversation.last_message', 'chat_message.thread'];
/** Named as requests and other resources name it. */
const OTHER_NAMES: Readonly<Record<string, string>> = { 'agent_run.definition': 'agent_id' };

t.test('every sub-object that include[] names has its id beside it', async (t) => {
  const checked = new Set<string>();
  for (const { name, query, response } of routes) {
    const resource = itemOf(response as SchemaObject);
    const { object, ...properties } = resource.properties ?? {};
    for (const field of includes(query as SchemaObject | undefined)) {
      const expanded = subObject(properties[field]);
      const place = `${object?.const}.${field}`;
      if (expanded?.properties?.id === undefined || COMPUTED.includes(place)) continue;
      checked.add(place);
      const isEntity = expanded.properties.object?.const === 'entity';
      const id = OTHER_NAMES[place] ?? `${field}_id`;
      t.ok(id in properties, `${id} of ${name}`);
      if (isEntity) t.ok(`${field}_type` in properties, `${field}_type of ${name}`);
    }
  }
  for (const place of [
    'conversation.assignee',
    'chat_message.resource',
    'agent_run.definition',
    'user.role',
  ]) {
    t.ok(checked.has(place), place);
  }
});

/** Persons are found among users and people, and a block is named by the actor that it is about. */
const WITHOUT_GET = ['/v1/messaging/actors/:id', '/v1/messaging/messages/:id/reactions/:emoji'];

t.test('what a path names by its id can be read by its id', async (t) => {
  const readable = new Set(routes.filter(({ method }) => method === 'GET').map(({ path }) => path));
  const named = new Set(routes.flatMap(({ path }) => [...prefixes(path)]));
  t.strictSame([...named].filter((path) => !readable.has(path)).sort(), WITHOUT_GET);
});

/** Yields the beginnings of a path that end with a parameter. */
function* prefixes(path: string): Iterable<string> {
  for (const { index, 0: parameter } of path.matchAll(/:\w+/g)) yield path.slice(0, index + parameter.length);
}

t.test('ids have the documented form, whatever they are made from', async (t) => {
  const form = /^[a-z]{3}_[0-9A-Za-z]{24}$/;
  for (const id of [newId('message'), derivedId('pushSubscription', 'x'), timedId('mail', 1, 'x')]) {
    t.match(id, form);
  }
});

t.test('the documents say what null means in a body', async (t) => {
  const { body } = await call<OpenApi>('GET', '/v1/openapi.json');
  for (const [path, operations] of Object.entries(body.paths)) {
    const { patch, post } = operations;
    if (patch?.requestBody) t.match(patch.requestBody.description, /Null clears/, path);
    if (post?.requestBody && path.startsWith('/v1/messaging')) {
      t.match(post.requestBody.description, /Null .* counts as absent/, path);
    }
  }
});

interface OpenApi {
  readonly paths: Record<string, Record<string, { requestBody?: { description: string } }>>;
}

function itemOf(response: SchemaObject): SchemaObject {
  const { object, data } = response.properties ?? {};
  return object?.const === 'list' ? (data?.items ?? {}) : response;
}

function includes(query: SchemaObject | undefined): string[] {
  return (query?.properties?.['include[]']?.items?.enum ?? []) as string[];
}

function subObject(schema: SchemaObject | undefined): SchemaObject | undefined {
  return schema?.anyOf?.find(({ type }) => type === 'object');
}
