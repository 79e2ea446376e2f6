/**
 * Filters of lists and of the search by ids: an id that names nothing for the caller is refused,
 * whatever else it names.
 */

import { newId } from '@parley/protocol/ids.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { borrowTestApp, refusalOf } from '../support/app.ts';

const app = await borrowTestApp(t);
const { demo } = app;
const HEADERS = { 'Service-Version': NEWEST_VERSION };

/** Parameters that a filter needs beside it. */
const BESIDE: Readonly<Record<string, string>> = {
  'search conversation_id': 'q=hello',
  'search author_id': 'q=hello',
  'list_conversations topic_id': 'topic_type=entity',
};

/** Parameters that end like ids and answer otherwise, and why. */
const OTHERS: Readonly<Record<string, string>> = {
  'list_events resource_id': 'a free text of the producer',
  'list_presence actor_ids[]': 'no filter: what is unknown is left out of the answer',
  'list_actors actor_ids[]': 'no filter: what is unknown is left out of the answer',
  'list_conversations conversation_ids[]': 'the answer says which of them the list has, and which not',
};

const filters = app.routes
  .filter(({ method }) => method === 'GET')
  .flatMap(({ name, path, query }) => {
    const { properties = {} } = (query ?? {}) as { readonly properties?: object };
    // What an external_id names need not be there.
    const names = Object.keys(properties).filter(
      (parameter) => parameter !== 'external_id' && /_ids?(?:\[\])?$/.test(parameter),
    );
    return names.map((parameter) => ({ name: `${name} ${parameter}`, parameter, path }));
  });

t.test('every parameter that is an id is known here', (t) => {
  const known = filters.map(({ name }) => name);
  for (const name of [...Object.keys(BESIDE), ...Object.keys(OTHERS)]) t.ok(known.includes(name), name);
  t.ok(known.length >= 9, known.join(', '));
  t.end();
});

t.test('an id that names nothing in the account is parameter_invalid', async (t) => {
  const { api_key: token, account_id } = demo.other_account;
  const theirs = { token, headers: { ...HEADERS, 'Service-Account': account_id } };
  const group = await app.call<{ actor_id: string }>('POST', '/v1/messaging/groups', {
    ...theirs,
    body: { name: 'Harbor' },
  });
  const conversation = await app.call<{ id: string }>('POST', '/v1/messaging/conversations', {
    ...theirs,
    body: { type: 'group', participants: [] },
  });
  t.same([group.status, conversation.status], [201, 201]);
  const foreign = [group.body.actor_id, conversation.body.id];
  const ids = [newId('actor'), newId('conversation'), 'x', ...foreign, ''];
  for (const { name, parameter, path } of filters) {
    if (name in OTHERS) continue;
    const answers: string[] = [];
    for (const id of ids) {
      const query = [`${encodeURIComponent(parameter)}=${id}`, BESIDE[name] ?? []].flat().join('&');
      const answer = await app.call('GET', `${path}?${query}`, { headers: HEADERS });
      t.equal(refusalOf(answer), `400 parameter_invalid ${parameter}`, `${name} ${id}`);
      if (id !== '') answers.push(answer.text);
    }
    t.equal(new Set(answers).size, 1, `${name}: what another account has looks like nothing`);
  }
});

t.test('what the caller may not see looks like nothing', async (t) => {
  const search = (id: string) =>
    app.call('GET', `/v1/messaging/search?q=hello&conversation_id=${id}`, {
      headers: HEADERS,
      token: demo.users.vera.access_token,
    });
  const { body } = await app.call<{ readonly id: string }>('POST', '/v1/messaging/conversations', {
    body: { type: 'group', participants: [{ type: 'user', actor_id: demo.users.ada.id }] },
  });
  const [hidden, absent] = [await search(body.id), await search(newId('conversation'))];
  t.equal(refusalOf(hidden), '400 parameter_invalid conversation_id');
  t.equal(hidden.text, absent.text);
});

t.test('me is the caller in every filter by an actor', async (t) => {
  const token = demo.users.ada.access_token;
  const actorFilters = filters.filter(({ name, parameter }) => {
    return !(name in OTHERS) && !/^(?:agent|conversation|group|inbox|topic)_id$/.test(parameter);
  });
  t.ok(actorFilters.length >= 6);
  for (const { name, parameter, path } of actorFilters) {
    const beside = BESIDE[name] === undefined ? '' : `&${BESIDE[name]}`;
    const read = async (id: string) => {
      const query = `${encodeURIComponent(parameter)}=${id}${beside}`;
      const { status, text } = await app.call('GET', `${path}?${query}`, { headers: HEADERS, token });
      t.equal(status, 200, `${name} ${id}`);
      return text;
    };
    t.equal(
      JSON.parse(await read('me')).data.length,
      JSON.parse(await read(demo.users.ada.id)).data.length,
      name,
    );
  }
});

t.test('the account audit knows its actions', async (t) => {
  const answer = await app.call('GET', '/v1/account/audit?action=nope', { headers: HEADERS });
  t.equal(refusalOf(answer), '400 parameter_invalid action');
  const known = await app.call('GET', '/v1/account/audit?action=conversation.created', { headers: HEADERS });
  t.equal(known.status, 200);
});
