/** The admin port (src/app/DECISIONS.md#the-admin-port): the metrics are there alone. */

import { createServer } from 'node:net';
import t from 'tap';
import { createTestDatabase } from '../support/postgres.ts';
import { freshDirectory, startParley } from './parley.ts';

t.test('without a setting the metrics are on loopback, on the first free port', async (t) => {
  // Another program may have the first port already, which is what this is for.
  const taken = createServer();
  await new Promise<void>((resolve) => {
    taken.once('error', () => resolve());
    taken.listen(9_464, '127.0.0.1', resolve);
  });
  t.teardown(() => void taken.close());
  const { base, admin } = await started({ PARLEY_ADMIN_PORT: '' });
  t.match(admin, /^http:\/\/127\.0\.0\.1:94(6[5-9]|7\d|8[0-3])$/);
  const metrics = await fetch(`${admin}/metrics`);
  t.match(await metrics.text(), /^parley_build_info/m);
  t.equal((await fetch(`${admin}/readyz`)).status, 200);
  const refused = await fetch(`${base}/metrics`);
  t.equal(refused.status, 404);
  const { error } = (await refused.json()) as { error: { code: string; message: string } };
  t.equal(error.code, 'resource_not_found');
  t.match(error.message, /PARLEY_ADMIN_PORT.*PARLEY_ADMIN_HOST/);
});

t.test('off opens none', async (t) => {
  const { admin, base } = await started({ PARLEY_ADMIN_PORT: 'off' });
  t.equal(admin, undefined);
  t.equal((await fetch(`${base}/metrics`)).status, 404);
});

/** Returns the URLs of a node that has started. */
async function started(env: NodeJS.ProcessEnv) {
  const running = startParley(t, {
    DATABASE_URL: (await createTestDatabase(t)).url,
    HOST: '127.0.0.1',
    PORT: '0',
    PARLEY_DEMO: 'off',
    PARLEY_DATA_DIR: freshDirectory(t),
    ...env,
  });
  const [line] = await running.logs(/^.*"started".*$/m);
  const { base_url: base, admin_url: admin } = JSON.parse(line) as { base_url: string; admin_url?: string };
  return { base, admin };
}
