/** A Postgres that may lose or damage data in a crash of its machine, as that of the tests may. */

import type { Installation } from '@parley/protocol/resources/installation.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { lockUser } from '../../src/core/accounts/actors/users.ts';
import { addOperator } from '../../src/core/accounts/users/operators.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { createLog } from '../../src/platform/log.ts';
import { freshDirectory, runParley } from '../start/parley.ts';
import { startNode, type TestNode } from '../support/node.ts';
import { createTestDatabase } from '../support/postgres.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

const NOT_ACCEPTED = { PARLEY_UNSAFE_POSTGRES: '' };

t.test('a new installation is refused, and warned of once it has messages', async (t) => {
  const { url } = await createTestDatabase(t);
  const place = { DATABASE_URL: url, PORT: '0', PARLEY_DATA_DIR: freshDirectory(t) };
  const refused = await runParley(['start'], { ...place, ...NOT_ACCEPTED });
  t.equal(refused.code, 1);
  t.match(
    refused.stderr,
    /"msg":"Postgres does not write to disk .*fsync = off.*PARLEY_UNSAFE_POSTGRES=accept.*\n$/,
  );

  const accepted = await startNode(t, { databaseUrl: url });
  t.equal((await accepted.send(accepted.demo.conversations.group)).status, 201);
  t.notMatch(accepted.running.stderr, /full_page_writes/);
  t.match(await checked(t, accepted, url), { state: 'ok' });
  await accepted.kill('SIGTERM');

  const { dataDir } = accepted;
  const warned = await startNode(t, { databaseUrl: url, dataDir, env: NOT_ACCEPTED });
  await warned.running.logs(/"off":\["fsync","full_page_writes"\]/);
  t.match(await checked(t, warned, url), { state: 'attention', message: /fsync = on/ });
});

/** Returns the check of Postgres as an operator sees it. */
async function checked(t: Teardown, { baseUrl, demo }: TestNode, url: string) {
  const database = await openDatabase({ url, log: createLog('silent') });
  t.teardown(() => database.close());
  await database.transaction(async (tx) => {
    await addOperator(tx, (await lockUser(tx, demo.account_id, demo.users.ada.id))!);
  });
  const headers = {
    Authorization: `Bearer ${demo.users.ada.access_token}`,
    'Service-Version': NEWEST_VERSION,
    'Service-Account': demo.account_id,
  };
  const answered = await until(
    async () => {
      const answer = await fetch(`${baseUrl}/v1/installation`, { headers });
      return answer.ok ? ((await answer.json()) as Installation) : undefined;
    },
    { what: 'an operator' },
  );
  return answered.checks.find(({ name }) => name === 'postgres');
}
