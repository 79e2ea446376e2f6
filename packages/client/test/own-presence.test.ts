/** The presence of the caller, which the client declares alike on each transport. */

import t, { type Test } from 'tap';
import { borrowTestApp } from '../../../test/support/app.ts';
import { until } from '../../../test/support/until.ts';
import { type Client, type ConnectOptions, connect, type PageEvents, type Transport } from '../index.ts';

/** A page that a test hides and shows. */
class Page extends EventTarget implements PageEvents {
  readonly document = Object.assign(new EventTarget(), { visibilityState: 'visible' });

  turn(state: 'hidden' | 'visible'): void {
    this.document.visibilityState = state;
    this.document.dispatchEvent(new Event('visibilitychange'));
  }
}

const app = await borrowTestApp(t);
const { demo } = app;
const roles = await app.call<{ data: { id: string }[] }>('GET', '/v1/roles');
const role_id = roles.body.data[0]!.id;

for (const transport of ['websocket', 'stream', 'poll'] as const) {
  t.test(`${transport}: online in a page, away while it is hidden`, async (t) => {
    const page = new Page();
    const { client, shown } = await open(t, transport, { page });
    await shown('online');
    page.turn('hidden');
    await shown('away');
    page.turn('visible');
    await shown('online');
    await client.setPresence('away');
    await shown('away');
    page.turn('hidden');
    await client.setPresence('online');
    t.equal(await status(client), 'away', 'as long as it is hidden');
    page.turn('visible');
    await shown('online');
  });

  t.test(`${transport}: as the application says, and nothing by itself elsewhere`, async (t) => {
    const hidden = new Page();
    hidden.turn('hidden');
    await (await open(t, transport, { page: hidden })).shown('away');
    await (await open(t, transport, { page: new Page(), presence: 'away' })).shown('away');
    await (await open(t, transport, { presence: 'online' })).shown('online');
    for (const options of [{ page: new Page(), presence: false }, {}] as const) {
      const { client, shown } = await open(t, transport, options);
      t.equal(await status(client), 'offline');
      await client.setPresence('online');
      await shown('online');
    }
  });
}

/** Opens the client of another user each time, and waits until it is live. */
async function open(t: Test, transport: Transport, options: Partial<ConnectOptions>) {
  const { body } = await app.call<{ id: string }>('POST', '/v1/users', {
    body: { name: 'Page', email: `${crypto.randomUUID()}@example.com`, role_id },
  });
  const client = connect({
    url: app.baseUrl,
    account: demo.account_id,
    token: await app.tokenOf(body.id),
    transports: [transport],
    ...options,
  });
  t.teardown(() => client.close());
  await until(() => client.state === 'live', { what: 'a live client' });
  const shown = (wanted: string) =>
    until(async () => (await status(client)) === wanted, { what: `${wanted} by ${transport}` });
  return { client, shown };
}

async function status(client: Client): Promise<string | undefined> {
  const query = `actor_ids[]=${client.actor?.id}`;
  const { data } = await client.fetch<{ data: { status: string }[] }>(`/v1/messaging/presence?${query}`);
  return data[0]?.status;
}
