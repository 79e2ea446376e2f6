/**
 * The inbox of the SDK against the real server: whatever others do, over a network that breaks, it
 * ends as a list that is read afresh.
 */

import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { Conversations, PATH } from '../../../test/conversations/fixture.ts';
import { borrowTestApp } from '../../../test/support/app.ts';
import { Random } from '../../../test/support/random.ts';
import type { Teardown } from '../../../test/support/teardown.ts';
import { until } from '../../../test/support/until.ts';
import type { InboxQuery } from '../inbox/inbox-snapshot.ts';
import {
  type Client,
  type ConnectOptions,
  type Conversation,
  connect,
  type Inbox,
  type Participant,
  type Timing,
  type Transport,
} from '../index.ts';
import { TRANSPORTS } from '../link/transport.ts';
import { SYSTEM_TIMING } from '../timing/timing.ts';
import { openNetwork } from './network.ts';

const app = await borrowTestApp(t);
const { demo } = app;
const { ada, grace, vera } = demo.users;
const conversations = new Conversations(app);
const NEW = { headers: { 'Service-Version': '1.3.harbor' } };
const BY_ADA = { ...NEW, token: ada.access_token };
const BY_GRACE = { ...NEW, token: grace.access_token };
const user = (actor: { readonly id: string }) => ({ type: 'user', actor_id: actor.id });
const SEED = 20_261_126;

t.test('it is sorted, paged, and follows what others do', async (t) => {
  const client = open(t);
  const ids: string[] = [];
  for (let n = 0; n < 7; n++) ids.push((await group()).id);
  const inbox = opened(t, client, { pageSize: 3, type: 'group' });
  t.equal(inbox.snapshot.status, 'loading');
  await until(() => inbox.snapshot.status === 'ready', { what: 'the first page' });
  t.strictSame(idsOf(inbox), ids.slice(-3).reverse());
  t.equal(inbox.snapshot.hasMore, true);
  t.equal(await inbox.loadMore(), true);
  t.strictSame(idsOf(inbox), ids.slice(-6).reverse());

  const before = inbox.snapshot;
  await send(ids[2]!, 'to the top');
  await until(() => idsOf(inbox)[0] === ids[2], { what: 'the conversation at the top' });
  const [first, ...others] = inbox.snapshot.conversations;
  t.match(first, { unread: 1, last_message: { body: 'to the top' } });
  for (const one of others) {
    t.equal(
      one,
      before.conversations.find(({ id }) => id === one.id),
      'the others are the same objects',
    );
  }
  t.equal(inbox.snapshot.conversations.length, 6);

  await send(ids[0]!, 'from behind the end');
  await until(() => idsOf(inbox)[0] === ids[0], { what: 'one that was not loaded' });
  await until(() => (inbox.snapshot.summary?.unread ?? 0) >= 2, { what: 'the counts' });
  await conversations.update(ids[2]!, { title: 'Renamed' });
  await until(() => find(inbox, ids[2]!)?.title === 'Renamed', { what: 'the title' });
  const added = await group();
  await until(() => idsOf(inbox)[0] === added.id, { what: 'a new conversation' });
  await conversations.ok('DELETE', `${PATH}/${added.id}`, BY_ADA);
  await until(() => find(inbox, added.id) === undefined, { what: 'its end' });
});

t.test('what this client reads is read in its list at once', async (t) => {
  const client = open(t);
  const { id } = await group();
  const inbox = opened(t, client);
  await until(() => find(inbox, id) !== undefined, { what: 'the conversation' });
  const { sequence } = await send(id, 'read me');
  await until(() => find(inbox, id)?.unread === 1, { what: 'what is unread' });
  const shown: (number | undefined)[] = [];
  const read = client.request('mark_read', { conversation_id: id, sequence: sequence! });
  t.equal(find(inbox, id)?.unread, 0, 'before the answer');
  const row = find(inbox, id);
  inbox.on('change', () => shown.push(find(inbox, id)?.unread));
  await conversations.update((await group()).id, { title: 'Of another row' });
  await until(() => shown.length > 0, { what: 'another change' });
  t.equal(find(inbox, id)?.unread, 0);
  await read;
  const isThere = () => find(inbox, id)?.last_read_sequence === sequence;
  await until(isThere, { what: 'the row of the server' });
  t.notOk(shown.includes(1), 'it never was unread again');
  t.equal(row?.unread, 0);

  const next = await send(id, 'read me too');
  await until(() => find(inbox, id)?.unread === 1, { what: 'the next message' });
  const fields = { conversation_id: id, sequence: next.sequence! };
  const late = client.request('mark_read', fields, { signal: AbortSignal.abort() });
  await t.rejects(late, { name: 'AbortError' });
  t.equal(find(inbox, id)?.unread, 1, 'a position that did not move');
});

t.test('what another device of the same person does is followed too', async (t) => {
  const client = open(t);
  const [one, two] = [await group(), await group()];
  const sent = await send(one.id, 'read me');
  const all = opened(t, client);
  const unread = opened(t, client, { filter: 'unread' });
  const snoozed = opened(t, client, { filter: 'snoozed' });
  await until(() => [all, unread, snoozed].every(({ snapshot }) => snapshot.status === 'ready'), {
    what: 'three lists',
  });
  t.ok(find(unread, one.id));
  t.notOk(find(unread, two.id));
  const act = (id: string, action: string, body: object = {}) =>
    conversations.ok('POST', `${PATH}/${id}/actions/${action}`, { ...BY_GRACE, body });
  await act(one.id, 'mark-read', { sequence: sent.sequence });
  await until(() => find(unread, one.id) === undefined, { what: 'it is read' });
  await until(() => find(all, one.id)?.unread === 0, { what: 'it in the other list' });
  await act(one.id, 'mark-unread', { sequence: sent.sequence });
  await until(() => find(unread, one.id)?.unread === 1, { what: 'it is unread again' });
  await act(two.id, 'snooze');
  await until(() => find(snoozed, two.id) !== undefined && find(all, two.id) === undefined, {
    what: 'it is snoozed',
  });
  await act(two.id, 'unsnooze');
  await until(() => find(snoozed, two.id) === undefined && find(all, two.id) !== undefined, {
    what: 'it is back',
  });
  await act(two.id, 'hide');
  await until(() => find(all, two.id) === undefined, { what: 'it is hidden' });
  await send(two.id, 'and shown again');
  await until(() => find(all, two.id) !== undefined, { what: 'it is shown again' });
});

t.test('a snooze ends by its time, which no event says', async (t) => {
  const client = open(t);
  const { id } = await group();
  const inbox = opened(t, client);
  await until(() => find(inbox, id), { what: 'the conversation' });
  await client.conversations.snooze(id, new Date(Date.now() + 4_000));
  await until(() => find(inbox, id) === undefined, { what: 'it is snoozed' });
  await until(() => find(inbox, id), { what: 'its return' });
});

t.test('the list that the filters leave is that of the server', async (t) => {
  const client = open(t, ada.access_token);
  const { conversation } = await conversations.createCase();
  const mine = opened(t, client, { filter: 'mine' });
  const free = opened(t, client, { filter: 'unassigned' });
  const lane = opened(t, client, { workflow_status: ['waiting_internal'] });
  await until(() => find(free, conversation.id), { what: 'a case without an owner' });
  await client.conversations.assign(conversation.id, ada.id);
  await until(() => find(mine, conversation.id) !== undefined && find(free, conversation.id) === undefined, {
    what: 'it has one',
  });
  t.notOk(find(lane, conversation.id));
  await conversations.update(conversation.id, { workflow_status: 'waiting_internal' });
  await until(() => find(lane, conversation.id)?.workflow_status === 'waiting_internal', {
    what: 'its lane',
  });
  await conversations.update(conversation.id, { workflow_status: 'resolved' });
  await until(() => find(mine, conversation.id) === undefined && find(lane, conversation.id) === undefined, {
    what: 'its end',
  });
});

t.test('nothing is requested for a change but what it names', async (t) => {
  const paths: string[] = [];
  const client = open(t, grace.access_token, {
    fetch: (input, init) => {
      paths.push(decodeURIComponent(String(input)));
      return fetch(input, init);
    },
  });
  const { id } = await group();
  const inbox = opened(t, client);
  await until(() => inbox.snapshot.status === 'ready' && inbox.snapshot.summary !== null, {
    what: 'the list',
  });
  const lists = () => paths.filter((path) => path.includes(`${PATH}?`));
  t.equal(lists().length, 1, 'one page at first');
  await send(id, 'one');
  await until(() => find(inbox, id)?.last_message?.body === 'one', { what: 'the message' });
  for (const path of lists().slice(1)) t.match(path, `conversation_ids[]=${id}`);
});

t.test('a list that cannot be read says why, and a wrong filter is not repeated', async (t) => {
  const client = open(t);
  const inbox = opened(t, client, { participant_id: 'act_nobody' });
  await until(() => inbox.snapshot.status === 'error', { what: 'the refusal' });
  t.match(inbox.snapshot.error, { code: 'parameter_invalid', param: 'participant_id', isTransient: false });
  await t.rejects(client.conversations.archive('cnv_nothing'), {
    name: 'ParleyError',
    code: 'resource_not_found',
  });
});

t.test('a server and a version before names conversations: the list is read again', async (t) => {
  const client = open(t, grace.access_token, { version: '1.2.harbor' });
  const { id } = await group();
  const inbox = opened(t, client);
  await until(() => find(inbox, id), { what: 'the list' });
  await send(id, 'as before');
  await until(() => find(inbox, id)?.last_message?.body === 'as before', { what: 'the message' });
  await conversations.update(id, { title: 'Old' });
  await until(() => find(inbox, id)?.title === 'Old', { what: 'the title' });
});

t.test('customers have an inbox of their own', async (t) => {
  const { conversation, customer } = await conversations.createCase();
  const client = open(t, await app.tokenOf(customer.actor!.id));
  const inbox = opened(t, client);
  await until(() => find(inbox, conversation.id), { what: 'its case' });
  await conversations.ok('POST', `${PATH}/${conversation.id}/messages`, {
    ...BY_ADA,
    body: { audience: 'customer', body: 'to you', client_message_id: 'to you' },
  });
  await until(() => find(inbox, conversation.id)?.last_message?.body === 'to you', { what: 'the reply' });
  await until(() => inbox.snapshot.summary?.unread === 1, { what: 'the count' });
});

for (const [what, query, changes, breaks, transports = TRANSPORTS] of [
  ['all of them', {}, 200, 0],
  ['what is unread', { filter: 'unread' }, 60, 0],
  ['all of them, over connections that break and become others', {}, 200, 6],
  ['all of them, over WebSockets that break', {}, 60, 3, ['websocket']],
  ['cases of an admin, over streams that break', { audience: 'customer' }, 60, 3, ['stream']],
  ['all of them, over polls', {}, 60, 0, ['poll']],
  ['cases of an admin, over polls that break', { audience: 'customer' }, 60, 3, ['poll']],
  ['in the order of creation, in pages', { order: 'created', pageSize: 5 }, 60, 3],
] as const satisfies [string, InboxQuery, number, number, (readonly Transport[])?][]) {
  t.test(`${changes} random changes end as a fresh list: ${what}`, async (t) => {
    const network = await openNetwork(t, app.baseUrl);
    const isAdmin = 'audience' in query;
    const token = isAdmin ? ada.access_token : grace.access_token;
    const client = open(t, token, { transports, timing: HASTY }, network.url);
    const world = new World(SEED + breaks, isAdmin ? BY_ADA : BY_GRACE);
    await world.begin();
    const inbox = opened(t, client, query);
    await until(() => inbox.snapshot.status === 'ready', { what: 'the first page' });
    for (let change = 0; change < changes; change++) {
      if (breaks > 0 && change % Math.floor(changes / breaks) === 10) network.cut();
      await world.change();
    }
    const fresh = async () => {
      const wanted = inbox.snapshot.conversations.length;
      const found: Conversation[] = [];
      const filter = {
        order: 'activity',
        ...query,
        limit: 100,
        include: ['last_message', 'participants'],
      } as const;
      const { pageSize: _, ...listed } = filter as typeof filter & { pageSize?: number };
      for await (const { data } of client.conversations.list(listed)) found.push(...data);
      return inbox.snapshot.hasMore ? found.slice(0, wanted) : found;
    };
    let difference: unknown;
    await until(
      async () => {
        const [shown, expected] = [plain(inbox.snapshot.conversations), plain(await fresh())];
        difference = { shown: shown.length, expected: expected.length, at: differenceOf(shown, expected) };
        return isDeepStrictEqual(shown, expected);
      },
      { what: 'the fresh list' },
    ).catch((error: unknown) => {
      t.fail(`${String(error)} after ${world.log.join(', ')}`, { difference });
    });
    let counts: readonly object[] = [];
    await until(
      async () => {
        const summaries = [await client.conversations.summary(), inbox.snapshot.summary!];
        counts = summaries.map(({ as_of: _, ...content }) => content);
        return isDeepStrictEqual(counts[0], counts[1]);
      },
      { what: 'the counts' },
    ).catch((error: unknown) => t.fail(String(error), { counts }));
    t.ok(inbox.snapshot.conversations.length > 0, 'there is something to compare');
  });
}

/** Tries better transports after a second, not a minute. */
const HASTY: Timing = { ...SYSTEM_TIMING, random: () => Math.random() / 50 };

/** Changes by others and by another device of the same person, seeded. */
class World {
  readonly log: string[] = [];
  readonly #random: Random;
  readonly #own: typeof BY_ADA;
  readonly #ids: string[] = [];
  readonly #gone: string[] = [];

  constructor(seed: number, own: typeof BY_ADA) {
    this.#random = new Random(seed);
    this.#own = own;
  }

  async begin(): Promise<void> {
    for (let n = 0; n < 8; n++) this.#ids.push((await group()).id);
    for (let n = 0; n < 4; n++) await this.#newCase();
  }

  async change(): Promise<void> {
    const id = this.#random.pick(this.#ids);
    const changes: Readonly<Record<string, () => Promise<unknown>>> = {
      send: () => send(id, `message ${this.log.length}`),
      sendOwn: () => this.#ok('POST', `/${id}/messages`, this.#own, message(`own ${this.log.length}`)),
      edit: async () => this.#ofNewest(id, 'PATCH', { body: `edited ${this.log.length}` }),
      erase: async () => this.#ofNewest(id, 'DELETE'),
      rename: () => this.#ok('PATCH', `/${id}`, BY_ADA, { title: `Title ${this.log.length}` }),
      archive: () => this.#ok('PATCH', `/${id}`, BY_ADA, { status: 'archived' }),
      unarchive: () => this.#ok('PATCH', `/${id}`, BY_ADA, { status: 'active' }),
      assign: () =>
        this.#ok('PATCH', `/${id}`, BY_ADA, { assignee_id: this.#random.pick([ada.id, grace.id, null]) }),
      lane: () =>
        this.#ok('PATCH', `/${id}`, BY_ADA, { workflow_status: this.#random.pick(['open', 'resolved']) }),
      hold: () =>
        this.#ok('POST', `/${id}/actions/set-legal-hold`, BY_ADA, {
          legal_hold: this.#random.pick(['held', 'released']),
        }),
      hide: () => this.#ok('POST', `/${id}/actions/hide`, this.#own),
      unhide: () => this.#ok('POST', `/${id}/actions/unhide`, this.#own),
      snooze: () => this.#ok('POST', `/${id}/actions/snooze`, this.#own, {}),
      unsnooze: () => this.#ok('POST', `/${id}/actions/unsnooze`, this.#own),
      markRead: () => this.#ok('POST', `/${id}/actions/mark-read`, this.#own, { sequence: 1 }),
      markUnread: () => this.#ok('POST', `/${id}/actions/mark-unread`, this.#own, { sequence: 1 }),
      join: () => this.#ok('POST', `/${id}/participants`, BY_ADA, user(this.#random.pick([grace, vera]))),
      leave: async () => {
        const other = (await this.#members(id)).find(
          ({ actor_id }) => actor_id === vera.id || actor_id === grace.id,
        );
        if (other !== undefined) await this.#ok('DELETE', `/${id}/participants/${other.id}`, BY_ADA);
      },
      role: async () => {
        const other = (await this.#members(id)).find(({ actor_id }) => actor_id === grace.id);
        const role = this.#random.pick(['member', 'admin']);
        if (other !== undefined) await this.#ok('PATCH', `/${id}/participants/${other.id}`, BY_ADA, { role });
      },
      create: async () => this.#ids.push((await group()).id),
      createCase: () => this.#newCase(),
      remove: async () => {
        await this.#ok('DELETE', `/${id}`, BY_ADA);
        this.#gone.push(id);
      },
      restore: () => this.#ok('POST', `/${this.#random.pick([...this.#gone, id])}/actions/restore`, BY_ADA),
      readAll: () => this.#ok('POST', '/actions/mark-all-read', this.#own),
    };
    const name = this.#random.pick([...Object.keys(changes), 'send', 'send', 'sendOwn', 'edit', 'markRead']);
    this.log.push(name);
    await changes[name]!();
  }

  async #members(id: string): Promise<readonly Participant[]> {
    const { body } = await app.call<Partial<Conversation>>(
      'GET',
      `${PATH}/${id}?include[]=participants`,
      BY_ADA,
    );
    return body.participants ?? [];
  }

  async #newCase(): Promise<void> {
    const { conversation } = await conversations.createCase();
    await conversations.add(conversation.id, user(grace));
    this.#ids.push(conversation.id);
  }

  async #ofNewest(id: string, method: 'PATCH' | 'DELETE', body?: object): Promise<void> {
    const { body: page } = await app.call<{ data?: { id: string }[] }>(
      'GET',
      `${PATH}/${id}/messages?limit=1`,
      BY_ADA,
    );
    const [newest] = page.data ?? [];
    const options = { ...BY_ADA, ...(body === undefined ? {} : { body }) };
    if (newest !== undefined) await app.call(method, `/v1/messaging/messages/${newest.id}`, options);
  }

  /** Refusals are part of a random walk: a conversation may be gone, archived or no case. */
  #ok(method: string, path: string, options: typeof BY_ADA, body?: object): Promise<unknown> {
    return app.call(method, `${PATH}${path}`, { ...options, ...(body === undefined ? {} : { body }) });
  }
}

/** What others have read is not a change of an inbox. */
function plain(list: readonly Conversation[]): readonly object[] {
  return list.map(({ participants, ...conversation }) => ({
    ...conversation,
    participants: participants?.map(({ last_read_sequence: _, ...participant }) => participant),
  }));
}

function differenceOf(shown: readonly object[], expected: readonly object[]): unknown {
  const at = expected.findIndex((one, index) => !isDeepStrictEqual(one, shown[index]));
  return { index: at, shown: shown[at], expected: expected[at] };
}

function message(body: string): object {
  return { body, client_message_id: `${body} ${Math.random()}` };
}

function group(): Promise<Conversation> {
  return conversations.create({ participants: [user(grace)] }, BY_ADA);
}

function send(id: string, body: string): Promise<{ readonly sequence: number | null }> {
  return app
    .call<{ sequence: number | null }>('POST', `${PATH}/${id}/messages`, { ...BY_ADA, body: message(body) })
    .then((answer) => answer.body);
}

function idsOf({ snapshot }: Inbox): readonly string[] {
  return snapshot.conversations.map(({ id }) => id);
}

function find({ snapshot }: Inbox, id: string): Conversation | undefined {
  return snapshot.conversations.find((one) => one.id === id);
}

function opened(t: Teardown, client: Client, query: InboxQuery = {}): Inbox {
  const inbox = client.inbox(query);
  t.teardown(() => inbox.close());
  return inbox;
}

function open(
  t: Teardown,
  token = grace.access_token,
  options: Partial<ConnectOptions> = {},
  url = app.baseUrl,
): Client {
  const client = connect({ url, account: demo.account_id, token, mostWaitMs: 200, ...options });
  t.teardown(() => client.close());
  return client;
}
