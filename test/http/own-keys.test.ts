/**
 * Keys of the caller's own in bodies, of one message or event each. A repetition under a known key
 * is answered with the existing resource, and the answer says so, with and without an
 * Idempotency-Key.
 */

import { randomUUID } from 'node:crypto';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { borrowTestApp, type CallOptions, callsAt } from '../support/app.ts';

const app = await borrowTestApp(t);
const { group, case: supportCase } = app.demo.conversations;
const { ada, grace } = app.demo.users;
const { call } = callsAt(app, NEWEST_VERSION);

/** A request under a key; `other` are fields of its body in which a repetition may differ. */
interface Keyed {
  readonly path: string;
  readonly bodyOf: (key: string) => object;
  readonly other?: object;
  readonly token?: string;
}

const sending = { path: `/v1/messaging/conversations/${group}/messages`, token: ada.access_token };
const original = (
  await call<{ readonly id: string }>('POST', sending.path, {
    token: ada.access_token,
    body: { body: 'ahoy', client_message_id: randomUUID() },
  })
).body;

/** By route: each way into the timeline. */
const KEYED: Readonly<Record<string, readonly Keyed[]>> = {
  send_message: [
    { ...sending, bodyOf: (key) => ({ body: 'a', client_message_id: key }), other: { body: 'b' } },
    {
      ...sending,
      bodyOf: (key) => ({ body: 'a', client_message_id: key, scheduled_at: inAnHour() }),
      other: { body: 'b' },
    },
    {
      path: `/v1/messaging/conversations/${supportCase}/messages`,
      token: ada.access_token,
      bodyOf: (key) => ({ body: 'a', client_message_id: key, audience: 'customer' }),
      other: { body: 'b' },
    },
    {
      // The message that the repetition names is refused, and the first message is still the
      // answer.
      ...sending,
      bodyOf: (key) => ({ body: 'a', client_message_id: key }),
      other: { reply_to_message_id: 'msg_0' },
    },
  ],
  forward_message: [
    {
      path: `/v1/messaging/messages/${original.id}/actions/forward`,
      token: ada.access_token,
      bodyOf: (key) => ({ conversation_id: group, client_message_id: key }),
      other: { body: 'b' },
    },
  ],
  import_messages: [
    {
      path: `${sending.path}/import`,
      bodyOf: (key) => ({
        messages: [
          { client_message_id: key, author_id: grace.id, created_at: '2020-01-01T00:00:00Z', body: 'a' },
        ],
      }),
    },
  ],
  create_event: [
    { path: '/v1/events', bodyOf: (key) => ({ type: 'order.created', event_id: key, data: { a: 1 } }) },
  ],
};

t.test('every endpoint whose body takes a key of the caller is here', async (t) => {
  const taking = app.routes.filter(({ body }) =>
    /"(client_message|event)_id":/.test(JSON.stringify(body ?? {})),
  );
  t.strictSame(taking.map(({ name }) => name).sort(), Object.keys(KEYED).sort());
});

for (const [route, requests] of Object.entries(KEYED)) {
  for (const [index, { path, bodyOf, other, ...options }] of requests.entries()) {
    t.test(`${route} ${index} says that its key was known`, async (t) => {
      const body = bodyOf(randomUUID());
      const post = async (more: object = {}, headers: CallOptions['headers'] = {}) => {
        const {
          status,
          headers: answered,
          body: shown,
        } = await call<Shown>('POST', path, { ...options, headers, body: { ...body, ...more } });
        if (status !== 200 && status !== 201) throw new Error(`${status} ${JSON.stringify(shown)}`);
        return [idsOf(shown), answered.get('Idempotent-Replayed')] as const;
      };
      const together = await Promise.all([post(), post(), post()]);
      const [id] = together[0];
      const marks = together.map(([, mark]) => mark).sort();
      t.strictSame(marks, ['true', 'true', null].sort(), 'of three at once, one is not repeated');
      t.same(new Set(together.map(([shown]) => shown)), new Set([id]));
      const keyed = { 'Idempotency-Key': randomUUID() };
      t.strictSame(await post(), [id, 'true'], 'again');
      t.strictSame(await post({}, keyed), [id, 'true'], 'under an Idempotency-Key that is new');
      t.strictSame(await post({}, keyed), [id, 'true'], 'and once more under it');
      if (other !== undefined) t.strictSame(await post(other), [id, 'true'], 'with another body');

      const fresh = bodyOf(randomUUID());
      t.strictSame((await post(fresh))[1], null, 'not under another key');
    });
  }
}

t.test('an import of which a message is new is no repetition', async (t) => {
  const [{ path, bodyOf }] = KEYED.import_messages as readonly [Keyed];
  const [known, added] = [bodyOf(randomUUID()), bodyOf(randomUUID())] as { messages: object[] }[];
  await call('POST', path, { body: known });
  const both = await call('POST', path, { body: { messages: [...known!.messages, ...added!.messages] } });
  t.strictSame([both.status, both.headers.get('Idempotent-Replayed')], [201, null]);
});

t.test('drafts have no key, and are not repeated', async (t) => {
  const body = { body: 'a', mode: 'draft', channel: 'message', client_message_id: randomUUID() };
  const path = `/v1/messaging/conversations/${supportCase}/messages`;
  for (let time = 0; time < 2; time++) {
    const { status, headers } = await call('POST', path, { body });
    t.strictSame([status, headers.get('Idempotent-Replayed')], [201, null]);
  }
});

type Shown = { readonly id?: string; readonly messages?: readonly { readonly id: string }[] };

function idsOf({ id, messages }: Shown): string {
  return id ?? messages!.map((message) => message.id).join();
}

function inAnHour(): string {
  return new Date(Date.now() + 3_600_000).toISOString();
}
