/** A node that stops while its clients listen: they are on another one before, and miss nothing. */

import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { startNode } from '../../../test/support/node.ts';
import { createTestDatabase } from '../../../test/support/postgres.ts';
import { startRedis } from '../../../test/support/redis.ts';
import { until } from '../../../test/support/until.ts';
import { type ClientState, connect } from '../index.ts';
import { openNetwork } from './network.ts';

t.test('a client continues on another node after SIGTERM', async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t);
  const { url: redisUrl } = await startRedis(t);
  const first = await startNode(t, { databaseUrl, redisUrl, env: { PARLEY_DRAIN_MS: '4000' } });
  const second = await startNode(t, { databaseUrl, redisUrl });
  const network = await openNetwork(t, first.baseUrl);
  const { account_id: account, api_key: token, conversations } = second.demo;
  const client = connect({ url: network.url, account, token });
  t.teardown(() => client.close());
  const [states, sequences]: [ClientState[], (number | null)[]] = [[], []];
  client.on('state', (state) => states.push(state));
  client.subscribe(conversations.group, {
    afterSequence: 0,
    onMessage: ({ sequence }) => sequences.push(sequence),
  });
  await until(() => client.state === 'live', { what: 'live' });

  let stopped = false;
  let sent = 0;
  network.target = second.baseUrl;
  const stop = first.kill('SIGTERM').then(() => {
    stopped = true;
  });
  while (!stopped) {
    const { status } = await second.send(conversations.group);
    if (status !== 201) throw new Error(`a send was answered with ${status}`);
    sent += 1;
    await pause(10);
  }
  await stop;
  await until(() => sequences.length >= sent, { what: `${sent} messages; got ${sequences.length}` });
  t.strictSame(
    sequences,
    Array.from({ length: sent }, (_, index) => index + 1),
  );
  t.strictSame(states, ['catching_up', 'live'], 'live all the time');
});
