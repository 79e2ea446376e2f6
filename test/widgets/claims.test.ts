/**
 * Anonymous visitors of widgets, and their fate once the application says who they are
 * (docs/contract.md#widgets).
 */

import type { RealtimeTicket } from '@parley/protocol/resources/token.ts';
import type { VisitorClaim, VisitorSession, Widget } from '@parley/protocol/resources/widget.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { WebSocket } from 'ws';
import { AUDIENCE, provide } from '../identity/fixture.ts';
import { StreamClient } from '../support/answer-clients.ts';
import { callsAt, startTestApp } from '../support/app.ts';
import { storedText } from '../support/stored-text.ts';
import { TokenIssuer } from '../support/token-issuer.ts';
import { until } from '../support/until.ts';
import { OPEN, visitorsOf } from './fixture.ts';

const app = await startTestApp(t, { PARLEY_FETCH_ALLOW: '127.0.0.1' });
const { demo, database } = app;
const { call, refusal } = callsAt(app, NEWEST_VERSION);
const { need, widget, visitor, openCase, send, casesOf, textsOf } = visitorsOf(app);
const issuer = await TokenIssuer.start(t);
const provider = await provide(app, issuer, {
  person: 'customer',
  provision: 'first_use',
  subject: 'external_id',
});
const shop = await widget({ identity_provider_id: provider.id });
const tokenOf = (sub: string) => issuer.token({ iss: issuer.origin, aud: AUDIENCE, sub });
const claimOptions = (session: Pick<VisitorSession, 'access_token'>, token: string) => ({
  token,
  body: { visitor_token: session.access_token },
});
const claimPath = ({ id }: Pick<Widget, 'id'> = shop) => `/v1/widgets/${id}/visitors/actions/claim`;
const claim = (session: Pick<VisitorSession, 'access_token'>, token: string) =>
  call<VisitorClaim>('POST', claimPath(), claimOptions(session, token));
const refusedClaim = (session: Pick<VisitorSession, 'access_token'>, token: string, of = shop) =>
  refusal('POST', claimPath(of), claimOptions(session, token));

t.test('an anonymous visitor writes, is answered, and sees its own cases alone', async (t) => {
  const [a, b] = [await visitor(shop), await visitor(shop)];
  t.not(a.customer_id, b.customer_id);
  const { id } = await openCase(a.access_token);
  await send(a.access_token, id, 'Is it in stock?');
  await send(demo.api_key, id, 'Yes.', { audience: 'customer' });
  const seen = await textsOf(a.access_token, id);
  t.strictSame(
    seen.map(({ body, sender }) => [body, sender?.name?.replace(/ \w{5}$/, '')]),
    [
      ['Yes.', 'Customer Service'],
      ['Is it in stock?', 'Visitor'],
    ],
  );
  t.strictSame([await casesOf(a.access_token), await casesOf(b.access_token)], [[id], []]);
  const path = `/v1/messaging/conversations/${id}`;
  t.equal(await refusal('GET', path, { token: b.access_token }), '404 resource_not_found id');
  t.equal(
    await refusal('GET', '/v1/messaging/people', { token: a.access_token }),
    '403 insufficient_permissions null',
  );
  for (let more = 0; more < 4; more += 1) await openCase(a.access_token);
  t.equal(
    await refusal('POST', '/v1/messaging/conversations', {
      token: a.access_token,
      body: { type: 'group', audience: 'customer' },
    }),
    '403 limit_exceeded null',
  );
});

t.test('a refresh stays a visitor, is repeated by its key, and ends by a second use', async (t) => {
  const { refresh_token, customer_id } = await visitor(shop);
  const ask = (key?: string) =>
    call<VisitorSession>('POST', '/v1/auth/tokens/refresh', {
      headers: { ...OPEN, ...(key && { 'Idempotency-Key': key }) },
      body: { refresh_token },
    });
  const [first, repeated] = [await ask('one'), await ask('one')];
  t.strictSame([first.status, repeated.text], [201, first.text]);
  const { id } = await openCase(first.body.access_token);
  const [message] = [await send(first.body.access_token, id, 'Still here')];
  t.equal(message.sender_id, customer_id);
  const second = await ask();
  t.equal(second.status, 401);
  await until(
    async () =>
      (await refusal('GET', `/v1/messaging/conversations/${id}`, { token: first.body.access_token })) ===
      '401 invalid_credentials null',
    { what: 'the session has ended' },
  );
});

t.test('Create Visitor is not repeated by an Idempotency-Key, and needs an enabled widget', async (t) => {
  const off = await widget({ enabled: false });
  const path = (id: string) => `/v1/widgets/${id}/visitors`;
  t.equal(await refusal('POST', path(off.id), { headers: OPEN, body: {} }), '404 resource_not_found id');
  t.equal(await refusal('POST', path('wgt_none'), { headers: OPEN, body: {} }), '404 resource_not_found id');
  const headers = { ...OPEN, 'Idempotency-Key': 'visitor-1' };
  t.equal(await refusal('POST', path(shop.id), { headers, body: {} }), '201');
  t.equal(await refusal('POST', path(shop.id), { headers, body: {} }), '410 resource_gone null');
});

t.test(
  'chatwoot#2070: what was said anonymously goes to the one who said it, and B never sees it',
  async (t) => {
    const a = await visitor(shop);
    const { id } = await openCase(a.access_token);
    const said = await send(a.access_token, id, 'My order 4711');
    await need('PUT', `/v1/messaging/messages/${said.id}/reactions/👍`, { token: a.access_token });
    await need('POST', `/v1/messaging/conversations/${id}/actions/mark-read`, {
      token: a.access_token,
      body: { sequence: said.sequence },
    });
    const [ada, ben] = [tokenOf('ada'), tokenOf('ben')];
    t.strictSame([await casesOf(ada), await casesOf(ben)], [[], []]);
    const claimed = await claim(a, ada);
    t.equal(claimed.status, 200, claimed.text);
    t.equal(claimed.body.visitor_id, a.customer_id);
    t.strictSame([await casesOf(ada), await casesOf(ben)], [[id], []]);
    const [message] = await textsOf(ada, id);
    t.strictSame([message?.body, message?.sender_id], ['My order 4711', claimed.body.customer_id]);
    t.match(await need<object>('GET', `/v1/messaging/messages/${said.id}/reactions`, { token: ada }), {
      data: [{ actor: { id: claimed.body.customer_id } }],
    });
    t.match(await need('GET', `/v1/messaging/conversations/${id}`, { token: ada }), { unread: 0 });
    t.equal(
      await refusal('GET', `/v1/messaging/conversations/${id}`, { token: ben }),
      '404 resource_not_found id',
    );
    t.equal(
      await refusal('GET', `/v1/messaging/conversations/${id}`, { token: a.access_token }),
      '401 invalid_credentials null',
    );

    t.strictSame((await claim(a, ada)).body, claimed.body, 'sent again it is the same');
    t.equal(await refusedClaim(a, ben), '409 resource_conflict visitor_token', 'and never of another');
    t.strictSame(await casesOf(ben), []);
    t.equal(
      await refusal('POST', '/v1/auth/tokens/refresh', {
        headers: OPEN,
        body: { refresh_token: a.refresh_token },
      }),
      '401 invalid_credentials refresh_token',
    );

    await until(
      async () =>
        (await database.kysely.selectFrom('actors').select('id').where('id', '=', a.customer_id).execute())
          .length === 0,
      { what: 'the actor of the visitor is removed' },
    );
    const places = async () =>
      (await storedText(database, a.customer_id)).filter((place) => !place.startsWith('public.jobs.'));
    // Search indexes what moved in the background.
    await until(async () => !(await places()).some((place) => place.startsWith('public.search_')), {
      what: 'the words are indexed again',
    });
    t.strictSame(
      await places(),
      ['public.audit_events.details', 'public.visitors.id'],
      'nothing else names the visitor',
    );
    const audited = await need<{ data: { conversation_id: string | null; details: object }[] }>(
      'GET',
      '/v1/account/audit?action=visitor.claimed',
    );
    const details = { visitor_id: a.customer_id, customer_id: claimed.body.customer_id, by: 'token' };
    const shown = audited.data.map(({ conversation_id, details }) => ({ conversation_id, details }));
    t.strictSame(
      shown.filter((one) => JSON.stringify(one).includes(a.customer_id)),
      [
        { conversation_id: id, details },
        { conversation_id: null, details },
      ],
    );
  },
);

t.test(
  'chatwoot#15933: sockets of the anonymous identity are closed, and what follows is not theirs',
  async (t) => {
    const a = await visitor(shop);
    const { id } = await openCase(a.access_token);
    await send(a.access_token, id, 'before');
    const { ticket } = await need<RealtimeTicket>('POST', '/v1/realtime/tickets', {
      token: a.access_token,
      body: {},
    });
    const unused = await need<RealtimeTicket>('POST', '/v1/realtime/tickets', {
      token: a.access_token,
      body: {},
    });
    const url = `${app.baseUrl.replace('http', 'ws')}/v1/realtime`;
    const socket = new WebSocket(`${url}?ticket=${ticket}&version=${NEWEST_VERSION}`);
    const frames: string[] = [];
    socket.on('message', (data) => void frames.push(String(data)));
    const closed = new Promise<number>((resolve) => socket.on('close', resolve));
    await until(() => frames.some((frame) => frame.includes('"ready"')), { what: 'the socket is ready' });
    socket.send(JSON.stringify({ type: 'subscribe', id: '1', conversation_id: id }));
    await until(() => frames.some((frame) => frame.includes('caught_up')), { what: 'the socket is live' });
    const token = tokenOf('carol');
    t.equal((await claim(a, token)).status, 200);
    t.equal(await closed, 4202);
    const count = frames.length;
    await send(token, id, 'a secret of carol');
    await send(demo.api_key, id, 'an answer to carol', { audience: 'customer' });
    t.equal(frames.length, count);
    t.notOk(frames.some((frame) => frame.includes('carol')));
    const late = new WebSocket(`${url}?ticket=${unused.ticket}&version=${NEWEST_VERSION}`);
    t.equal(
      await new Promise((done) => late.on('unexpected-response', (_, { statusCode }) => done(statusCode))),
      401,
    );
  },
);

t.test('streams and polls carry a visitor, and open screens of the team show the customer', async (t) => {
  const a = await visitor(shop);
  const { id } = await openCase(a.access_token);
  const said = await send(a.access_token, id, 'Who am I?');
  const polled = await call<{ data?: object[] }>('POST', '/v1/realtime/poll', {
    token: a.access_token,
    body: { wait_ms: 0, subscribe: [{ conversation_id: id, after_sequence: 0 }] },
  });
  t.equal(polled.status, 200, polled.text);
  t.match(polled.text, 'Who am I?');
  const streamOf = (token: string) => {
    const headers = {
      Authorization: `Bearer ${token}`,
      'Service-Version': NEWEST_VERSION,
      'Service-Account': demo.account_id,
      'Content-Type': 'application/json',
    };
    return new StreamClient({ baseUrl: app.baseUrl, headers }, { subscribe: [{ conversation_id: id }] });
  };
  const [team, stranger] = [streamOf(demo.api_key), streamOf(a.access_token)];
  t.teardown(() => team.close());
  await Promise.all([team, stranger].map((stream) => stream.frame('caught_up')));
  const { body } = await claim(a, tokenOf('olga'));
  await until(() => stranger.ended, { what: 'the stream of the visitor ends' });
  const shown = (event: string, text: string) =>
    team.frames.some((frame) => frame.event === event && JSON.stringify(frame).includes(text));
  await until(
    () => shown('participant.updated', body.customer_id) && shown('message.updated', body.customer_id),
    { what: 'the team sees the customer' },
  );
  t.ok(shown('message.updated', said.id));
  t.notOk(stranger.frames.some((frame) => JSON.stringify(frame).includes(body.customer_id)));
});

t.test('two at once: one customer twice, and two customers of whom one wins', async (t) => {
  for (const names of [
    ['dora', 'dora'],
    ['eve', 'frank'],
  ]) {
    const a = await visitor(shop);
    const { id } = await openCase(a.access_token);
    await send(a.access_token, id, 'whose?');
    const tokens = names.map(tokenOf);
    for (const token of tokens) await casesOf(token);
    const answers = await Promise.all([...tokens, ...tokens].map((token) => claim(a, token)));
    const statuses = answers.map(({ status }) => status).sort();
    const isOne = names[0] === names[1];
    t.strictSame(statuses, isOne ? [200, 200, 200, 200] : [200, 200, 409, 409], names.join());
    const seen = await Promise.all(tokens.map(casesOf));
    t.strictSame(seen.map((ids) => ids.includes(id)).filter(Boolean).length, isOne ? 2 : 1);
    const rows = await database.kysely
      .selectFrom('audit_events')
      .select('id')
      .where('action', '=', 'visitor.claimed')
      .where('conversation_id', '=', id)
      .execute();
    t.equal(rows.length, 1, 'once');
  }
});

t.test('a case that opens while the visitor is claimed goes along or is refused', async (t) => {
  for (let round = 0; round < 5; round += 1) {
    const a = await visitor(shop);
    const token = tokenOf(`racer-${round}`);
    await casesOf(token);
    const [opened, claimed] = await Promise.all([
      call<{ id: string }>('POST', '/v1/messaging/conversations', {
        token: a.access_token,
        body: { type: 'group', audience: 'customer' },
      }),
      claim(a, token),
    ]);
    t.equal(claimed.status, 200, claimed.text);
    t.strictSame(await casesOf(token), opened.status === 201 ? [opened.body.id] : [], String(opened.status));
  }
});

t.test('what a visitor had under way is moved when it is there', async () => {
  const a = await visitor(shop);
  const { id } = await openCase(a.access_token);
  const said = await send(a.access_token, id, 'late');
  const token = tokenOf('greta');
  const { body } = await claim(a, token);
  // A node that was cut off would have written it like this.
  await database.kysely
    .updateTable('messages')
    .set({ author_id: a.customer_id, sender_id: a.customer_id })
    .where('id', '=', said.id)
    .execute();
  await until(async () => (await textsOf(token, id))[0]?.sender_id === body.customer_id, {
    what: 'the message is the customer’s',
  });
});

t.test(
  'where the customer takes part already, its participant stays with the higher read position',
  async (t) => {
    const token = tokenOf('henry');
    await casesOf(token);
    const a = await visitor(shop);
    const { id } = await openCase(a.access_token);
    await send(a.access_token, id, 'one');
    const path = `/v1/messaging/conversations/${id}/participants`;
    const { data } = await need<{ data: { id: string }[] }>('GET', `/v1/customers?external_id=henry`);
    await need('POST', path, { body: { type: 'customer', actor_id: data[0]!.id } });
    await send(token, id, 'two');
    t.equal((await claim(a, token)).status, 200);
    const members = await need<{ data: { type: string; actor_id: string }[] }>('GET', path);
    t.strictSame(
      members.data.filter(({ type }) => type === 'customer').map(({ actor_id }) => actor_id),
      [data[0]!.id],
    );
    t.strictSame(
      (await textsOf(token, id)).map(({ sender_id }) => sender_id),
      [data[0]!.id, data[0]!.id],
    );
  },
);

t.test('a block goes along, and so does what erasure and a hold need', async (t) => {
  const a = await visitor(shop);
  const { id } = await openCase(a.access_token);
  const said = await send(a.access_token, id, 'held words');
  await need('POST', `/v1/messaging/conversations/${id}/actions/set-legal-hold`, {
    body: { legal_hold: 'held' },
  });
  await need('POST', `/v1/messaging/actors/${a.customer_id}/actions/block`);
  const token = tokenOf('ivan');
  const { body } = await claim(a, token);
  const sends = `/v1/messaging/conversations/${id}/messages`;
  t.equal(
    await refusal('POST', sends, {
      token,
      body: { client_message_id: 'x', body: 'x' },
    }),
    '403 insufficient_permissions null',
  );
  t.match(await need('GET', `/v1/customers/${body.customer_id}`), { blocked: true });
  t.match(await need('GET', `/v1/messaging/conversations/${id}`), { legal_hold: 'held' });
  const erase = `/v1/users/${body.customer_id}/actions/erase`;
  const { held_conversations } = await need<{ held_conversations: string[] }>('POST', erase, {
    body: { messages: 'remove' },
  });
  t.strictSame(held_conversations, [id], 'the hold keeps what the visitor had written');
  t.match(await need('GET', `/v1/messaging/messages/${said.id}`), { body: 'held words' });
});

t.test('notifications of the team name the customer', async (t) => {
  const a = await visitor(shop);
  const { id } = await openCase(a.access_token);
  await need('POST', `/v1/messaging/conversations/${id}/participants`, {
    body: { type: 'user', actor_id: demo.users.grace.id },
  });
  await send(a.access_token, id, 'Anybody?');
  const feed = () =>
    need<{ data: { sender_id: string | null; resource_id: string }[] }>(
      'GET',
      '/v1/messaging/notifications',
      {
        token: demo.users.grace.access_token,
      },
    );
  const about = async () => (await feed()).data.filter(({ resource_id }) => resource_id === id);
  await until(async () => (await about()).some(({ sender_id }) => sender_id === a.customer_id), {
    what: 'Grace is notified',
  });
  const { body } = await claim(a, tokenOf('judy'));
  t.notOk((await about()).some(({ sender_id }) => sender_id === a.customer_id));
  t.ok((await about()).some(({ sender_id }) => sender_id === body.customer_id));
});

t.test('a visitor whom the team knows by an external id is that customer alone', async (t) => {
  const a = await visitor(shop);
  const { id } = await openCase(a.access_token);
  await need('PATCH', `/v1/customers/${a.customer_id}`, { body: { external_id: 'kim' } });
  t.equal(await refusedClaim(a, tokenOf('leo')), '409 resource_conflict visitor_token');
  const { body, status } = await claim(a, tokenOf('kim'));
  t.strictSame([status, body.customer_id], [200, a.customer_id]);
  t.strictSame(await casesOf(tokenOf('kim')), [id]);
  t.equal(
    await refusal('GET', '/v1/messaging/conversations', { token: a.access_token }),
    '401 invalid_credentials null',
  );
});

t.test('what proves nothing claims nothing', async (t) => {
  const a = await visitor(shop);
  const { id } = await openCase(a.access_token);
  await send(a.access_token, id, 'mine');
  const mallory = tokenOf('mallory');
  const other = await TokenIssuer.start(t);
  await provide(app, other, { person: 'customer', provision: 'first_use' });
  const foreign = other.token({ iss: other.origin, aud: AUDIENCE, sub: 'm' });
  const INVALID = '401 invalid_credentials visitor_token';
  const refusals: Record<string, [string, string]> = {
    'a key': [await refusedClaim(a, demo.api_key), '403 insufficient_permissions null'],
    'a user': [await refusedClaim(a, demo.users.ada.access_token), '403 insufficient_permissions null'],
    'the visitor itself': [await refusedClaim(a, a.access_token), '403 insufficient_permissions null'],
    'another provider': [await refusedClaim(a, foreign), '403 insufficient_permissions null'],
    'no visitor': [await refusedClaim({ access_token: demo.users.ada.access_token }, mallory), INVALID],
    'a customer': [await refusedClaim({ access_token: await app.tokenOf(a.customer_id) }, mallory), INVALID],
    'a made-up token': [await refusedClaim({ access_token: 'a.b.c' }, mallory), INVALID],
    'another widget': [await refusedClaim(await visitor(await widget()), mallory), INVALID],
    'a refresh token': [await refusedClaim({ access_token: a.refresh_token }, mallory), INVALID],
    'no widget': [
      await refusal('POST', claimPath({ id: 'wgt_none' }), claimOptions(a, mallory)),
      '404 resource_not_found id',
    ],
    'no body': [
      await refusal('POST', claimPath(), { token: mallory, body: {} }),
      '400 missing_field visitor_token',
    ],
  };
  for (const [name, [actual, expected]] of Object.entries(refusals)) t.equal(actual, expected, name);
  t.strictSame([await casesOf(mallory), await casesOf(a.access_token)], [[], [id]]);
  await need('POST', `/v1/users/${a.customer_id}/actions/end-sessions`);
  await until(async () => (await refusedClaim(a, mallory)) === INVALID, {
    what: 'an ended session claims nothing',
  });
});

t.test('a deleted widget ends the sessions of its visitors, and keeps their conversations', async (t) => {
  const gone = await widget();
  const a = await visitor(gone);
  const { id } = await openCase(a.access_token);
  await need('DELETE', `/v1/widgets/${gone.id}`);
  await until(
    async () =>
      (await refusal('GET', '/v1/messaging/conversations', { token: a.access_token })) ===
      '401 invalid_credentials null',
    { what: 'the session has ended' },
  );
  t.match(await need('GET', `/v1/messaging/conversations/${id}`), { id });
});

t.test('the persona is that of the widget, and changes with it', async (t) => {
  const group = await need<{ id: string }>('POST', '/v1/messaging/groups', { body: { name: 'Shop team' } });
  const named = await widget({ group_id: group.id, identity_provider_id: provider.id });
  const a = await visitor(named);
  const { id } = await openCase(a.access_token);
  const answer = async () => (await send(demo.api_key, id, 'Hi', { audience: 'customer' })).sender_id;
  const persona = await answer();
  const known = await openCase(tokenOf('nora'), { widget_id: named.id });
  const reply = await send(demo.api_key, known.id, 'Hi', { audience: 'customer' });
  t.equal(reply.sender_id, persona, 'also for a customer that the application names');
  await need('PATCH', `/v1/widgets/${named.id}`, { body: { group_id: null } });
  await until(async () => (await answer()) !== persona, { what: 'Customer Service answers' });
  const body = { type: 'group', audience: 'customer', widget_id: 'wgt_none' };
  t.equal(
    await refusal('POST', '/v1/messaging/conversations', { token: a.access_token, body }),
    '404 resource_not_found widget_id',
  );
  t.equal(
    await refusal('POST', '/v1/messaging/conversations', { body: { ...body, widget_id: named.id } }),
    '422 validation_failed widget_id',
  );
});
