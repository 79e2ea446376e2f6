/**
 * No answer has a person whom its reader does not know, nor an address that it does not see: every
 * GET of the API, with every id that an API key finds, as a member that holds all permissions but
 * those for users, and as a customer (docs/contract.md#who-knows-whom, #who-sees-addresses).
 */

import { randomUUID } from 'node:crypto';
import { ID_PREFIXES, type IdKind, newId } from '@parley/protocol/ids.ts';
import { PERMISSIONS } from '@parley/protocol/permissions.ts';
import type { Account } from '@parley/protocol/resources/account.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { bodyExampleOf } from '../../src/api/documents/openapi/examples.ts';
import type { SchemaObject } from '../../src/api/documents/openapi/schemas.ts';
import type { Route } from '../../src/api/pipeline/route.ts';
import { personWith } from '../accounts/fixture.ts';
import { callsAt, startTestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { kindInPath } from './path-kinds.ts';

const app = await startTestApp(t, { PARLEY_RATE_LIMIT: 'off' });
const { demo, database } = app;
const { call } = callsAt(app, NEWEST_VERSION);
const routes = app.routes.filter((route) => route.operators === undefined && route.open !== true);
const CONVERSATIONS = '/v1/messaging/conversations';

const OTHERS = PERMISSIONS.filter((one) => !one.startsWith('users:') && one !== 'tokens:create');
const reader = await personWith(app, OTHERS);
const companion = await personWith(app, OTHERS);
const stranger = await personWith(app, OTHERS);
/** What names the stranger. */
const marks = {
  id: stranger.id,
  name: `Stranger ${randomUUID()}`,
  external_id: `own-${randomUUID()}`,
  username: `stranger-${randomUUID()}`,
  address: (await addresses()).get(stranger.id)!,
};
/** What somebody wrote or made says by whose id, which names nobody to the reader. */
const IDS_OF_MAKERS: readonly string[] = ['get_event id', 'list_events id', 'list_notifications id'];

await make('PATCH', `/v1/users/${stranger.id}`, {
  name: marks.name,
  external_id: marks.external_id,
  username: marks.username,
});
await make('POST', CONVERSATIONS, {
  type: 'group',
  title: 'Room',
  participants: [reader, companion].map(({ id }) => ({ type: 'user', actor_id: id })),
});
for (const { id } of [reader, companion]) {
  await make('POST', `${CONVERSATIONS}/${demo.conversations.case}/participants`, {
    type: 'user',
    actor_id: id,
  });
}
await actsOfTheStranger();

t.test('shared: no answer has a user whom the reader does not know', async (t) => {
  await set({ people: 'shared' });
  const found = await crawled(t, reader.token, (text) =>
    Object.entries(marks).flatMap(([what, mark]) => (text.includes(mark) ? [what] : [])),
  );
  t.strictSame(found, IDS_OF_MAKERS);
  await set({ people: 'everyone' });
});

t.test('shared: a query takes the id of a stranger as it takes one of nobody', async (t) => {
  await set({ people: 'shared' });
  let asked = 0;
  for (const { name, method, path, query } of routes) {
    const { properties = {} } = (query ?? {}) as SchemaObject;
    for (const parameter of Object.keys(properties)) {
      if (method !== 'GET' || path.includes(':') || !/(^|_)ids?(\[\])?$/.test(parameter)) continue;
      if (parameter === 'external_id') continue;
      const answer = async (id: string) => {
        const needed = name === 'search' ? '&q=ahoy' : '';
        const { status, text } = await call('GET', `${path}?${parameter}=${id}${needed}`, {
          token: reader.token,
        });
        return { status, text: text.replaceAll(id, 'ID').replaceAll(/"(request_id|as_of)":"[^"]*"/g, '') };
      };
      t.strictSame(await answer(stranger.id), await answer(newId('actor')), `${name} ${parameter}`);
      asked += 1;
    }
  }
  t.ok(asked > 15, `${asked} parameters`);
  await set({ people: 'everyone' });
});

t.test('admins: no answer has an address that the reader does not see', async (t) => {
  await set({ handles: 'admins' });
  const all = await addresses();
  for (const [who, token, own] of [
    ['a member', reader.token, reader.id],
    ['a customer', demo.customer.access_token, demo.customer.actor_id],
  ] as const) {
    const found = await crawled(t, token, (text) =>
      [...all].flatMap(([id, address]) => (id !== own && text.includes(address) ? ['address'] : [])),
    );
    t.strictSame(found, [], who);
  }
  await set({ handles: 'everyone' });
});

t.test('everyone: answers have both, so that the tests above look where they are', async (t) => {
  const found = await crawled(t, reader.token, (text) =>
    Object.entries(marks).flatMap(([what, mark]) => (text.includes(mark) ? [what] : [])),
  );
  for (const name of ['list_people', 'get_person', 'list_actors', 'list_presence', 'list_notifications']) {
    t.ok(
      found.some((one) => one.startsWith(`${name} `)),
      name,
    );
  }
});

/** What the reader is shown: the name of the endpoint and what `look` finds in an answer. */
async function crawled(
  t: Pick<typeof import('tap').t, 'ok'>,
  token: string,
  look: (text: string) => readonly string[],
): Promise<string[]> {
  const found = new Set<string>();
  let read = 0;
  for (const path of await pathsThatExist()) {
    const answer = await call('GET', path.path, { token });
    if (answer.status === 200) read += 1;
    for (const what of look(answer.text)) found.add(`${path.name} ${what}`);
  }
  t.ok(read > 7, `${read} answers`);
  return [...found].sort();
}

/** Every GET with the ids that a key finds, some of each kind, and with all that it can include. */
async function pathsThatExist(): Promise<{ readonly name: string; readonly path: string }[]> {
  const ids = new Map<string, Set<string>>();
  const paths = new Map<string, string>();
  for (let round = 0; round < 3; round++) {
    for (const route of routes.filter(({ method }) => method === 'GET')) {
      for (const path of pathsOf(route, ids)) {
        if (paths.has(path)) continue;
        paths.set(path, route.name);
        const { text } = await call('GET', path);
        for (const [id, prefix] of text.matchAll(/\b([a-z]{3})_[0-9A-Za-z]{20,}\b/g)) {
          const known = ids.get(prefix!) ?? new Set();
          ids.set(prefix!, known);
          if (known.size < MOST_OF_A_KIND || id === stranger.id) known.add(id);
        }
      }
    }
  }
  return [...paths].map(([path, name]) => ({ name, path }));
}

const MOST_OF_A_KIND = 12;

function pathsOf(route: Route, ids: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  let paths = [route.path];
  for (const [parameter, name] of route.path.matchAll(/:(\w+)/g)) {
    const values =
      name === 'emoji' ? ['%F0%9F%91%8D'] : (ids.get(ID_PREFIXES[kindOf(route.path, name!)]) ?? []);
    paths = paths.flatMap((path) => [...values].map((value) => path.replace(parameter, value)));
  }
  const query = QUERIES[route.name] ?? '';
  const include = (route.query as SchemaObject | undefined)?.properties?.['include[]']?.items?.enum ?? [];
  const asked = [...include.map((one) => `include[]=${one}`), ...(query === '' ? [] : [query])].join('&');
  return paths.map((path) => (asked === '' ? path : `${path}?${asked}`));
}

function kindOf(path: string, name: string): IdKind {
  return kindInPath(path, name);
}

const QUERIES: Readonly<Record<string, string>> = {
  search: `q=${encodeURIComponent(marks.name)}&type=conversations`,
  list_presence: `actor_ids[]=${stranger.id}&actor_ids[]=${companion.id}`,
  list_actors: `actor_ids[]=${stranger.id}&actor_ids[]=${companion.id}&actor_ids[]=${demo.customer.actor_id}`,
  list_people: 'limit=100',
};

/** Every POST to a collection with the example of its body, and what else leaves a trace of it. */
async function actsOfTheStranger(): Promise<void> {
  const { token } = stranger;
  let made = 0;
  for (const route of routes) {
    if (route.method !== 'POST' || route.path.includes(':') || route.body === undefined) continue;
    if (route.name === 'poll_realtime' || route.name === 'open_realtime_stream') continue;
    const { status } = await call('POST', route.path, {
      token,
      body: bodyExampleOf(route.body as SchemaObject, () => undefined, ''),
    });
    if (status < 300) made += 1;
  }
  if (made < 8) throw new Error(`The stranger made ${made} things.`);
  await make(
    'POST',
    '/v1/messaging/groups',
    { name: newId('group'), members: [stranger.id, companion.id] },
    token,
  );
  await make(
    'POST',
    '/v1/messaging/notifications',
    { category: 'system.broadcast', title: 'Ahoy', recipient_ids: [reader.id] },
    token,
  );
}

/** The addresses of all people of the account, by actor. */
async function addresses(): Promise<Map<string, string>> {
  const rows = await database.kysely
    .selectFrom('actors')
    .select(['id', 'handle'])
    .where('account_id', '=', demo.account_id)
    .where('type', '=', 'user')
    .where('handle', 'is not', null)
    .execute();
  return new Map(rows.map(({ id, handle }) => [id, handle!]));
}

async function make<Body = object>(
  method: string,
  path: string,
  body: object,
  token?: string,
): Promise<Body> {
  const answer = await call<Body>(method, path, { body, ...(token !== undefined && { token }) });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.body;
}

/** Sets the settings; readers see them at once. */
async function set(settings: Partial<Pick<Account, 'people' | 'handles'>>): Promise<void> {
  await make('PATCH', '/v1/account', settings);
  const isThere = async () => {
    const known = await call<{ handle: string | null }>('GET', `/v1/messaging/people/${companion.id}`, {
      token: reader.token,
    });
    const unknown = await call('GET', `/v1/messaging/people/${stranger.id}`, { token: reader.token });
    const { people, handles } = settings;
    return (
      (people === undefined || (unknown.status === 200) === (people === 'everyone')) &&
      (handles === undefined || (known.body.handle !== null) === (handles === 'everyone'))
    );
  };
  await until(isThere, { what: JSON.stringify(settings) });
}
