/** A closed client rejects at once, whatever is asked of it, and whatever was under way. */

import t from 'tap';
import { borrowTestApp } from '../../../test/support/app.ts';
import { until } from '../../../test/support/until.ts';
import { type Client, connect } from '../index.ts';

const app = await borrowTestApp(t);
const { demo } = app;
const { group } = demo.conversations;
const CLOSED = { name: 'ParleyError', code: 'client_closed' };

/** Each call, with the promise of its end. */
const CALLS: Readonly<Record<string, (client: Client) => Promise<unknown>>> = {
  conversation: (client) => client.conversation(group).opened,
  'a conversation by an own id': (client) => client.conversation('ext:of-mine').opened,
  send: (client) => client.conversation(group).send('ahoy'),
  'mark as read': (client) => client.conversation(group).markRead(1),
  thread: (client) => client.conversation(group).thread('msg_1').opened,
  around: (client) => client.conversation(group).around(1).opened,
  fetch: (client) => client.fetch('/v1/me'),
  request: (client) => client.request('presence', { status: 'online' }),
  upload: (client) => client.upload(new Blob(['a'])),
  inbox: (client) => failed(client.inbox()),
  notifications: (client) => failed(client.notifications()),
  run: (client) => failed(client.run('run_1')),
};

for (const [name, call] of Object.entries(CALLS)) {
  t.test(name, async (t) => {
    const closed = open(app.baseUrl);
    closed.close();
    await t.rejects(call(closed), CLOSED, 'after the end');
    // Nothing listens there.
    const away = open('http://127.0.0.1:9');
    t.teardown(() => away.close());
    const pending = t.rejects(call(away), CLOSED, 'while it was waited for');
    away.close();
    await pending;
    const longer = open('http://127.0.0.1:9');
    t.teardown(() => longer.close());
    const later = t.rejects(call(longer), CLOSED, 'after a first try');
    await until(() => longer.connection.snapshot.error !== null, { what: 'a failed try' });
    longer.close();
    await later;
  });
}

function open(url: string): Client {
  return connect({
    url,
    account: demo.account_id,
    token: demo.users.ada.access_token,
    transports: ['websocket'],
    mostWaitMs: 100,
  });
}

/** Rejects with the error that the object shows. */
async function failed(object: {
  readonly snapshot: { readonly status: string; readonly error: Error | null };
}): Promise<void> {
  await until(() => object.snapshot.error !== null, { what: 'an error' });
  throw object.snapshot.error;
}
