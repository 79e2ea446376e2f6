/**
 * The answers of the five specified endpoints and of the most used resources, and events, in each
 * version, as files: golden/<name>.json (golden-shapes.test.ts has the rest). Stable versions never
 * change. A version that a file lacks is written into it, and the test fails once.
 */

import { randomUUID } from 'node:crypto';
import { covers, NEWEST_VERSION, VERSIONS, type Version } from '@parley/protocol/versions.ts';
import t from 'tap';
import { Conversations } from '../conversations/fixture.ts';
import { openSocket } from '../notifications/readers.ts';
import { borrowTestApp, type Refusal } from '../support/app.ts';
import { FrameContract } from '../support/frame-contract.ts';
import { until } from '../support/until.ts';
import { Golden } from './golden.ts';

const app = await borrowTestApp(t);
const { users, conversations } = app.demo;
const cases = new Conversations(app);
const messages = (id: string) => `/v1/messaging/conversations/${id}/messages`;
const EXPANDED = 'include[]=sender&include[]=author&include[]=resource';

/** One request after the other, each with a name of its own. */
type Answers = Record<string, unknown>;
type Ask = (method: string, path: string, body?: object, token?: string) => Promise<unknown>;

const ENDPOINTS: Readonly<Record<string, (ask: Ask, version: Version) => Promise<Answers>>> = {
  async send_message(ask, version) {
    const { conversation } = await cases.createCase();
    const { id } = conversation;
    const send = (fields: object, query = '') =>
      ask('POST', `${messages(id)}${query}`, { body: 'ahoy', client_message_id: 'key', ...fields });
    const link = { link_resource_type: 'actor', link_resource_id: users.ada.id };
    const proposed = {
      client_message_id: undefined,
      mode: 'draft',
      audience: 'customer',
      channel: 'message',
    };
    return {
      bare: await send({ client_message_id: `${version} 1` }),
      expanded: await send({ client_message_id: `${version} 2`, ...link }, `?${EXPANDED}`),
      to_customer: await send({ client_message_id: `${version} 3`, audience: 'customer' }, `?${EXPANDED}`),
      scheduled: await send({
        client_message_id: `${version} 4`,
        scheduled_at: new Date(Date.now() + 3_600_000).toISOString(),
      }),
      draft: await send(proposed, `?${EXPANDED}`),
    };
  },
  async set_legal_hold(ask) {
    const { conversation } = await cases.createCase();
    const path = `/v1/messaging/conversations/${conversation.id}/actions/set-legal-hold`;
    return {
      held: await ask('POST', path, { legal_hold: 'held' }),
      released: await ask('POST', `${path}?include[]=assignee&include[]=group&include[]=participants`, {
        legal_hold: 'released',
      }),
    };
  },
  async reject_reply_draft(ask) {
    const { conversation } = await cases.createCase();
    const draft = async () => {
      const body = { mode: 'draft', channel: 'message', body: 'soon' };
      const made = await app.call<{ id: string }>('POST', messages(conversation.id), {
        body,
        token: users.ada.access_token,
      });
      return made.body.id;
    };
    const reject = (id: string, query = '') =>
      ask('POST', `/v1/messaging/messages/${id}/actions/reject${query}`, {});
    return { bare: await reject(await draft()), expanded: await reject(await draft(), `?${EXPANDED}`) };
  },
  async create_agent(ask, version) {
    const slug = version.replaceAll('.', '-');
    const agent = {
      name: 'Scribe',
      category_code: 'support',
      trigger_type: 'chat',
      description: 'Writes.',
      config: { system_prompt: 'Write.', temperature: 0.5, tools: [{ tool: 'fetch_url', sort_order: 1 }] },
    };
    return {
      bare: await ask('POST', '/v1/ai/agents', { ...agent, slug }),
      expanded: await ask('POST', '/v1/ai/agents?include[]=config&include[]=tools&include[]=role', {
        ...agent,
        slug: `${slug}-2`,
      }),
    };
  },
  async list_notifications(ask) {
    const path = '/v1/messaging/notifications';
    const list = (query: string) => ask('GET', `${path}?${query}`, undefined, users.vera.access_token);
    return {
      bare: await list('limit=1'),
      expanded: await list('include[]=sender&include[]=resource'),
      none: await list('status=read'),
    };
  },
};

/** The same for endpoints that came later. */
const COMPANIONS: typeof ENDPOINTS = {
  async conversations(ask, version) {
    const path = '/v1/messaging/conversations';
    const everything = ['assignee', 'group', 'participants', 'topic', 'last_message'];
    const participants = [users.vera, users.grace].map(({ id }) => ({ type: 'user', actor_id: id }));
    const made = await idOf(ask('POST', path, { type: 'group', title: version, participants }));
    const grace = (await cases.members(made)).find(({ actor }) => actor?.id === users.grace.id)!;
    // What follows an update, messages of the service among others, comes after the rest.
    return {
      bare: await ask('GET', `${path}/${made}`),
      expanded: await ask('GET', `${path}/${made}?${everything.map((one) => `include[]=${one}`).join('&')}`),
      list: await ask('GET', `${path}?q=${version}`),
      hidden: await ask('POST', `${path}/${made}/actions/hide`, {}),
      participants: await ask('GET', `${path}/${made}/participants`),
      updated: await ask('PATCH', `${path}/${made}`, { title: `${version} again` }),
      participant: await ask('PATCH', `${path}/${made}/participants/${grace.id}`, { role: 'viewer' }),
      audit: await ask('GET', `${path}/${made}/audit`),
    };
  },
  async messages(ask, version) {
    const { id } = await cases.create({ title: `Messages of ${version}` });
    const key = (name: string) => ({ body: name, client_message_id: `${version} ${name}` });
    const sent = await idOf(ask('POST', messages(id), key('sent')));
    const path = `/v1/messaging/messages/${sent}`;
    return {
      edited: await ask('PATCH', path, { body: 'edited' }),
      revisions: await ask('GET', `${path}/revisions`),
      reacted: await ask('PUT', `${path}/reactions/${encodeURIComponent('👍')}`, {}),
      reactions: await ask('GET', `${path}/reactions`),
      pinned: await ask('POST', `${path}/actions/pin`, {}),
      pins: await ask('GET', `/v1/messaging/conversations/${id}/pins`),
      reply: await ask('POST', messages(id), { ...key('reply'), reply_to_message_id: sent }),
      replies: await ask('GET', `${path}/replies`),
      bare: await ask('GET', path),
      list: await ask('GET', `${messages(id)}?${EXPANDED}&include[]=attachments`),
      outcome: await ask('GET', `${path}/outcome`),
      deleted: await ask('DELETE', path),
    };
  },
  async access(ask, version) {
    const key = app.demo.api_key;
    const slug = version.replaceAll('.', '-');
    const role = await ask('POST', '/v1/roles', { name: version, permissions: ['messaging:read'] }, key);
    const person = { name: version, email: `${slug}@example.com`, role_id: await idOf(role) };
    const user = await ask('POST', '/v1/users', person, key);
    const apiKey = { name: version, role_id: await idOf(role) };
    return {
      role,
      user,
      account: await ask('GET', '/v1/account'),
      api_key: await ask('POST', '/v1/api-keys', apiKey, key),
      users: await ask('GET', `/v1/users?q=${slug}`, undefined, key),
      people: await ask('GET', `/v1/messaging/people?q=${slug}`),
      group: await ask('POST', '/v1/messaging/groups', { name: version }, key),
      entity: await ask('POST', '/v1/entities', { name: version, handle: slug }, key),
      me: await ask('GET', '/v1/me'),
      settings: await ask('GET', '/v1/messaging/notification-settings'),
    };
  },
  async integrations(ask, version) {
    const key = app.demo.api_key;
    const slug = version.replaceAll('.', '-');
    const hook = { url: 'https://hooks.example.com/', event_types: ['order.created'] };
    return {
      webhook: await ask('POST', '/v1/webhooks', hook, key),
      webhooks: await ask('GET', '/v1/webhooks?limit=1', undefined, key),
      event: await ask('POST', '/v1/events', { type: 'golden.made', event_id: version, data: {} }, key),
      inbox: await ask(
        'POST',
        '/v1/messaging/inboxes',
        { name: version, address: `${slug}@example.com` },
        key,
      ),
      agents: await ask('GET', `/v1/ai/agents?q=${slug}&limit=1`),
    };
  },
  async applications(ask, version) {
    const key = app.demo.api_key;
    const slug = version.replaceAll('.', '-');
    const issuer = `https://${slug}.example.com/`;
    const provider = { name: version, issuer, audience: 'a', jwks_url: `${issuer}keys` };
    const role_id = await idOf(ask('POST', '/v1/roles', { name: `own ${version}`, permissions: [] }, key));
    const person = { name: version, email: `own-${slug}@example.com`, role_id, metadata: { crm: '7' } };
    const group = { type: 'group', title: version, metadata: { state: 'open' } };
    // Not Vera, whose socket is to receive the events below and nothing else.
    const participants = [{ type: 'user', actor_id: users.grace.id }];
    const size = { size_bytes: 9, sha256: '0'.repeat(64) };
    const archive = await ask('POST', '/v1/imports', { source: 'slack', ...size }, key);
    const own = `/v1/messaging/conversations/ext:own-${slug}`;
    const past = {
      client_message_id: slug,
      author_id: users.grace.id,
      body: 'long ago',
      created_at: '2019-03-04T05:06:07Z',
    };
    return {
      identity_provider: await ask('POST', '/v1/identity-providers', provider, key),
      user: await ask('PUT', `/v1/users/ext:${slug}`, person, key),
      conversation: await ask('PUT', own, { ...group, participants }),
      typing: await ask('POST', `${own}/actions/typing`, { state: 'start' }),
      customer: await ask('GET', `/v1/customers/${app.demo.customer.actor_id}`, undefined, key),
      actors: await ask('GET', `/v1/messaging/actors?actor_ids[]=${users.vera.id}`),
      widget: await ask('POST', '/v1/widgets', { name: version, sites: ['https://shop.example'] }, key),
      import: archive,
      canceled: await ask('POST', `/v1/imports/${await idOf(archive)}/actions/cancel`, {}, key),
      imported: await ask('POST', `${own}/messages/import`, { messages: [past] }, key),
    };
  },
  async people(ask, version) {
    const key = app.demo.api_key;
    const slug = version.replaceAll('.', '-');
    const role_id = await idOf(ask('POST', '/v1/roles', { name: `people ${version}`, permissions: [] }, key));
    // Before 1.4 each user needs an address, and none has a username.
    const named = covers(version, '1.4.harbor')
      ? { username: `own-${slug}` }
      : { email: `people-${slug}@example.com` };
    const filters = { filter: ['mine'], workflow_status: ['new'] };
    return {
      user: await ask('POST', '/v1/users', { name: version, role_id, ...named }, key),
      person: await ask('GET', `/v1/messaging/people/${users.grace.id}`),
      account: await ask('PATCH', '/v1/account', { people: 'everyone', push_content: 'none' }, key),
      view: await ask('POST', '/v1/messaging/views', { name: version, filters }),
      card_source: await ask('GET', '/v1/account/customer-card-source', undefined, key),
    };
  },
};

/** A refusal stands for an endpoint that the version does not have. */
async function idOf(answer: unknown): Promise<string> {
  return ((await answer) as { readonly id: string }).id;
}

await app.call('POST', messages(conversations.group), {
  body: { body: 'one', client_message_id: 'one' },
  token: users.ada.access_token,
});
await app.call('POST', messages(conversations.group), {
  body: { body: 'two', client_message_id: 'two', mentions: [users.vera.id] },
  token: users.ada.access_token,
});
await until(
  async () => {
    const { body } = await app.call<{ data: object[] }>('GET', '/v1/messaging/notifications', {
      token: users.vera.access_token,
    });
    return body.data.length === 2;
  },
  { what: 'two notifications' },
);

for (const [endpoint, answersOf] of Object.entries({ ...ENDPOINTS, ...COMPANIONS })) {
  t.test(endpoint, async (t) => {
    const golden = new Golden(endpoint);
    for (const version of endpoint in ENDPOINTS ? VERSIONS : VERSIONS.slice(1)) {
      const ask: Ask = async (method, path, body, token = users.ada.access_token) => {
        const headers = { 'Service-Version': version };
        const isAgents = path.startsWith('/v1/ai/');
        const answer = await app.call<Partial<Refusal>>(method, path, {
          headers,
          ...(body && { body }),
          ...(isAgents || path.includes('legal-hold') ? {} : { token }),
        });
        if (answer.body.error?.code === 'api_version_too_old') return 'api_version_too_old';
        if (answer.status >= 300) throw new Error(answer.text);
        return answer.body;
      };
      golden.check(t, version, normalised(await answersOf(ask, version), version));
    }
  });
}

t.test('events have the shapes of their golden answers', async (t) => {
  const golden = new Golden('events');
  for (const version of VERSIONS.slice(1)) {
    const socket = await openSocket(t, app, { token: users.vera.access_token }, version);
    const actors = [users.vera, users.grace].map(({ id }) => ({ type: 'user', actor_id: id }));
    const customer = { type: 'customer', name: 'Cleo', email: `${randomUUID()}@example.net` };
    const { id } = await cases.create({
      audience: 'customer',
      title: `Events of ${version}`,
      participants: [...actors, customer],
    });
    const frames: Record<string, object> = {};
    // Each is awaited before the next change: it shows the resource as it is when it is published.
    const received = async (event: string, fits: (data: Record<string, unknown>) => boolean = () => true) => {
      frames[event] = await socket.frame(
        (frame) => frame.event === event && fits(frame.data as Record<string, unknown>),
      );
    };
    await received('conversation.added');
    t.match(await socket.request('subscribe', { conversation_id: id }), { ok: true });
    const act = (method: string, path: string, body: object = {}) => {
      const headers = { 'Service-Version': NEWEST_VERSION };
      return app.call<{ id: string }>(method, path, { body, headers, token: users.ada.access_token });
    };
    const { body: sent } = await act('POST', messages(id), { body: 'ahoy', client_message_id: version });
    const path = `/v1/messaging/messages/${sent.id}`;
    const isSent = (data: Record<string, unknown>) => data.id === sent.id || data.message_id === sent.id;
    await received('message.created', isSent);
    await received('notification.created', ({ body }) => body === 'ahoy');
    await act('PATCH', path, { body: 'edited' });
    await received('message.updated', isSent);
    const { body: draft } = await act('POST', messages(id), {
      mode: 'draft',
      channel: 'message',
      body: 'soon',
    });
    await received('draft.created');
    await act('POST', `/v1/messaging/messages/${draft.id}/actions/reject`);
    await received('draft.updated', ({ status }) => status === 'rejected');
    await act('PATCH', `/v1/messaging/conversations/${id}`, { title: `Renamed ${version}` });
    await received('conversation.updated', ({ title }) => title === `Renamed ${version}`);
    const members = await cases.members(id);
    const grace = members.find(({ actor }) => actor?.id === users.grace.id)!;
    const participant = `/v1/messaging/conversations/${id}/participants/${grace.id}`;
    await act('PATCH', participant, { role: 'viewer' });
    await received('participant.updated', ({ role }) => role === 'viewer');
    if (covers(version, '1.2.harbor')) {
      await act('PUT', `${path}/reactions/${encodeURIComponent('👍')}`);
      await received('message.reacted');
      await act('POST', `${path}/actions/pin`);
      await received('message.pinned');
    }
    await act('DELETE', participant);
    await received('participant.removed', (data) => data.id === grace.id);
    const contract = new FrameContract(version);
    t.strictSame(
      socket.frames.flatMap((frame) => contract.problemOf(frame) ?? []),
      [],
    );
    golden.check(t, version, normalised(frames, version));
    socket.close();
  }
});

/** Ids, times and cursors by the order in which they come. */
function normalised(answers: Answers, version: Version): Answers {
  const seen = new Map<string, string>();
  const nameOf = (text: string, kind: string) => {
    const name =
      seen.get(text) ??
      `<${kind} ${[...seen.values()].filter((one) => one.startsWith(`<${kind} `)).length + 1}>`;
    seen.set(text, name);
    return name;
  };
  const text = JSON.stringify(answers)
    .replaceAll(version.replaceAll('.', '-'), '<version>')
    .replaceAll(version, '<version>')
    .replace(/\b[a-z]{3}_[\w-]{20,}/g, (id) => nameOf(id, id.slice(0, 3)))
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replace(/\b(whsec_|parley_)[^"]+/g, '$1<secret>')
    .replace(/[\w-]+@example\.net/g, '<address>')
    .replace(/cursor=[\w-]+/g, 'cursor=<cursor>');
  return JSON.parse(text);
}
