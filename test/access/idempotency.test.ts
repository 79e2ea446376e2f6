import { ApiError } from '@parley/protocol/errors/errors.ts';
import t from 'tap';
import {
  fingerprintOf,
  Idempotency,
  type IdempotencyClaim,
  type IdempotencyScope,
} from '../../src/api/access/idempotency.ts';
import type { Database } from '../../src/platform/db/connection/database.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { settingsOf } from '../support/settings.ts';
import { until } from '../support/until.ts';
import { refusal, refused } from './refusal.ts';
import { connectTo } from './rows.ts';

const SCOPE: IdempotencyScope = {
  accountId: 'acc_1',
  actorId: 'act_1',
  method: 'POST',
  path: '/v1/messaging/conversations/cnv_1/messages',
};
const PRINT = fingerprintOf('', { body: 'hello' });
const BODY = Buffer.from('{"id":"msg_1","body":"gr\u00fc\u00dfe \u{1f44b}"}');

t.test('a stored answer is replayed for its Idempotency-Key', async (t) => {
  const { url } = await createTestDatabase(t);
  const database = await connectTo(url, t);
  const idempotency = new Idempotency({ database });
  let made = 0;
  const newKey = () => `key ${++made}`;
  const claimOf = async (key: string): Promise<IdempotencyClaim> => {
    const { claim } = await idempotency.begin(SCOPE, key, PRINT);
    if (claim === undefined) throw new Error('replayed');
    return claim;
  };

  t.test('the first answer is given again, byte for byte', async (t) => {
    const key = newKey();
    await (await claimOf(key)).complete(201, BODY);
    for (let i = 0; i < 3; i++) {
      const { replay } = await idempotency.begin(SCOPE, key, PRINT);
      t.equal(replay?.status, 201);
      t.ok(replay?.body.equals(BODY));
    }
    t.same(
      (await rowsOf(database)).filter(({ hash }) => hash.includes(key)),
      [],
      'the key itself is not stored',
    );
  });

  t.test('an empty body is an answer too', async (t) => {
    const key = newKey();
    await (await claimOf(key)).complete(200, Buffer.alloc(0));
    t.equal((await idempotency.begin(SCOPE, key, PRINT)).replay?.body.length, 0);
  });

  t.test('the same key elsewhere is another key', async (t) => {
    const key = newKey();
    await (await claimOf(key)).complete(201, BODY);
    for (const other of [
      { accountId: 'acc_2' },
      { actorId: 'act_2' },
      { method: 'PATCH' },
      { path: '/v1/messaging/conversations/cnv_2/messages' },
    ]) {
      t.ok((await idempotency.begin({ ...SCOPE, ...other }, key, PRINT)).claim, JSON.stringify(other));
    }
  });

  t.test('another request with the key is refused, whatever became of the first', async (t) => {
    const [running, done] = [newKey(), newKey()];
    await claimOf(running);
    await (await claimOf(done)).complete(201, BODY);
    for (const key of [running, done]) {
      const other = fingerprintOf('', { body: 'hello!' });
      t.equal(await refusal(() => idempotency.begin(SCOPE, key, other)), 'idempotency_key_reused');
    }
  });

  t.test('while it is carried out', async (t) => {
    const key = newKey();
    const claim = await claimOf(key);
    t.match(await refused(() => idempotency.begin(SCOPE, key, PRINT)), {
      condition: 'idempotency_in_progress',
      param: 'Idempotency-Key',
      retryAfterS: 1,
    });
    await claim.release();
    t.ok(await claimOf(key), 'released, it is free');
  });

  t.test('of twenty concurrent requests one claims the Idempotency-Key', async (t) => {
    const key = newKey();
    t.same(await race(idempotency, key), { claimed: 1, inProgress: 19 });
  });

  t.test('one of twenty takes over a claim whose lease ran out', async (t) => {
    const key = newKey();
    const lapsed = await claimOf(key);
    await endLeases(database);
    t.equal(
      await refusal(() => idempotency.begin(SCOPE, key, fingerprintOf('', {}))),
      'idempotency_key_reused',
      'it stays bound to its request',
    );
    t.same(await race(idempotency, key), { claimed: 1, inProgress: 19 });

    await lapsed.complete(201, Buffer.from('of the lapsed'));
    await lapsed.release();
    t.equal(await refusal(() => claimOf(key)), 'idempotency_in_progress', 'the lapsed owner changes nothing');
    const effect = () =>
      database.transaction(async (tx) => {
        await tx.kysely.insertInto('settings').values({ name: 'effect of the lapsed', value: '' }).execute();
        await lapsed.complete(201, BODY, { tx });
      });
    t.equal(await refusal(effect), 'idempotency_in_progress');
    t.same(await settingsOf(database), [], 'and its effect is rolled back');
  });

  t.test('the answer is stored if and only if the effect is', async (t) => {
    const key = newKey();
    const claim = await claimOf(key);
    const failing = database.transaction(async (tx) => {
      await tx.kysely.insertInto('settings').values({ name: 'rolled back', value: '' }).execute();
      await claim.complete(201, BODY, { tx });
      throw new Error('after all');
    });
    await t.rejects(failing, /after all/);
    t.equal(await refusal(() => claimOf(key)), 'idempotency_in_progress', 'still claimed');
    await endLeases(database);
    const second = await claimOf(key);
    await database.transaction(async (tx) => {
      await tx.kysely.insertInto('settings').values({ name: 'effect', value: '' }).execute();
      await second.complete(201, BODY, { tx });
    });
    t.ok((await idempotency.begin(SCOPE, key, PRINT)).replay);
    t.same(await settingsOf(database), ['effect']);
  });

  t.test(
    "a request that takes over while the owner commits waits, and gets the owner's answer",
    async (t) => {
      const key = newKey();
      const claim = await claimOf(key);
      await endLeases(database);
      let next: Promise<unknown> | undefined;
      await database.transaction(async (tx) => {
        await claim.complete(201, BODY, { tx });
        next = idempotency.begin(SCOPE, key, PRINT);
        await until(async () => (await waiting(database)) === 1, { what: 'the other one waits for the row' });
      });
      t.match(await next, { replay: { status: 201 } });
    },
  );

  t.test('answers that are not stored', async (t) => {
    for (const status of [400, 401, 403, 422, 429, 500, 503]) {
      const key = newKey();
      await (await claimOf(key)).complete(status, BODY);
      t.ok(await claimOf(key), `${status} gives the key free`);
    }
    for (const status of [200, 201, 404, 409, 410]) {
      const key = newKey();
      await (await claimOf(key)).complete(status, BODY);
      t.match(await idempotency.begin(SCOPE, key, PRINT), { replay: { status } }, `${status} is kept`);
    }
  });

  t.test('a body with a secret is readable with the key alone', async (t) => {
    const key = newKey();
    const secret = Buffer.from('{"key":"parley_this_is_the_secret"}');
    await (await claimOf(key)).complete(201, secret, { secret: true });
    const stored = (await rowsOf(database)).filter((row) => row.encrypted);
    t.equal(stored.length, 1);
    t.notOk(stored[0]?.response?.includes('parley_this'));
    t.notOk(stored[0]?.response?.includes('"key"'));
    t.ok((await idempotency.begin(SCOPE, key, PRINT)).replay?.body.equals(secret));
  });

  t.test('keys of no or too many characters', async (t) => {
    for (const key of ['', 'x'.repeat(256), 'clé', 'a\tb', 'a\u007f']) {
      t.match(await refused(() => idempotency.begin(SCOPE, key, PRINT)), {
        condition: 'parameter_invalid',
        param: 'Idempotency-Key',
      });
    }
    t.ok(await claimOf('x'.repeat(255)));
  });

  t.test('after 24 hours a key is new, and purge() deletes it', async (t) => {
    const [reused, purged, young] = [newKey(), newKey(), newKey()];
    for (const key of [reused, purged]) await (await claimOf(key)).complete(201, BODY);
    await database.pool.query("UPDATE idempotency_keys SET created_at = created_at - interval '24 hours'");
    await (await claimOf(young)).complete(201, BODY);

    const other = fingerprintOf('', { another: 'request' });
    t.ok((await idempotency.begin(SCOPE, reused, other)).claim);
    const count = (await rowsOf(database)).length;
    t.equal(await idempotency.purge(), count - 2);
    t.equal((await rowsOf(database)).length, 2);
    t.ok((await idempotency.begin(SCOPE, young, PRINT)).replay);
    t.ok(await claimOf(purged));
  });

  t.test('an Idempotency-Key fails as unavailable while Postgres is away', async (t) => {
    const closing = await connectTo(url, t);
    await closing.close();
    const node = new Idempotency({ database: closing });
    t.equal(await refusal(() => node.begin(SCOPE, newKey(), PRINT)), 'service_unavailable');
  });
});

t.test('a fingerprint tells requests with one Idempotency-Key apart', async (t) => {
  const print = (query: string, body: unknown) => fingerprintOf(query, body).toString('hex');
  t.equal(
    print('', JSON.parse('{"a":1,"b":[{"c":"x","d":null}]}')),
    print('', JSON.parse('{"b":[{"d":null,"c":"x"}],"a":1.0}')),
    'the order of fields and the way of writing do not count',
  );
  const different = [
    print('', undefined),
    print('', {}),
    print('', { a: 1 }),
    print('', { a: '1' }),
    print('', { a: [1, 2] }),
    print('', { a: [2, 1] }),
    print('', JSON.parse('{"__proto__":1}')),
    print('include[]=sender', {}),
    print('include[]=author', {}),
  ];
  t.equal(new Set(different).size, different.length);
  const deep = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`);
  t.equal(await refusal(() => fingerprintOf('', deep)), 'invalid_format');
});

async function race(idempotency: Idempotency, key: string) {
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, () =>
      idempotency.begin(SCOPE, key, PRINT).catch((error: unknown) => {
        if (error instanceof ApiError && error.condition === 'idempotency_in_progress') return 'in progress';
        throw error;
      }),
    ),
  );
  const inProgress = outcomes.filter((outcome) => outcome === 'in progress').length;
  const claimed = outcomes.filter((outcome) => typeof outcome === 'object' && outcome.claim).length;
  return { claimed, inProgress };
}

/** As if 30 s had gone by. */
async function endLeases(database: Database): Promise<void> {
  await database.pool.query('UPDATE idempotency_keys SET claimed_until = clock_timestamp()');
}

function rowsOf({ kysely }: Database) {
  return kysely.selectFrom('idempotency_keys').selectAll().execute();
}

/** Returns how many statements in this database wait for a lock. */
async function waiting({ pool }: Database): Promise<number> {
  const { rows } = await pool.query(`
    SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`);
  return rows.length;
}
