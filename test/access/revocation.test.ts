import { connect, createServer, type Socket } from 'node:net';
import t from 'tap';
import { Authenticator } from '../../src/api/access/authenticate.ts';
import type { Principal } from '../../src/api/access/principal.ts';
import { Tokens } from '../../src/api/access/tokens.ts';
import { FRAME_CODEC as codec } from '../../src/core/frames/frame-codec.ts';
import type { Database } from '../../src/platform/db/connection/database.ts';
import { RedisEngine } from '../../src/platform/engine/redis/redis-engine.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { startRedis } from '../support/redis.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { refusal } from './refusal.ts';
import { AccountRows, connectTo, ManualClock, openRights, silent } from './rows.ts';

/** The parts of a node that handle rights, with a clock for the age of cached rights. */
async function openNode(t: Teardown, urls: { postgres: string; redis: string }) {
  const database = await connectTo(urls.postgres, t);
  const engine = await RedisEngine.connect({ codec, url: urls.redis, log: silent });
  t.teardown(() => engine.close());
  const rights = await openRights(engine, t);
  const clock = new ManualClock(0);
  const tokens = await Tokens.open({ database });
  const authenticator = new Authenticator({ database, tokens, rights, monotonicNow: clock.now });
  const bearer = (credential: string) => authenticator.authenticate(`Bearer ${credential}`);
  /**
   * Whether the credential is known without a look-up, which is when it is served without asking
   * Postgres.
   */
  const remembers = (credential: string) => {
    const answer = bearer(credential);
    if (!(answer instanceof Promise)) return true;
    answer.catch(() => {});
    return false;
  };
  return { database, engine, rights, clock, bearer, remembers };
}

t.test('a revoked right ends on every node', async (t) => {
  const { url: postgres } = await createTestDatabase(t);
  const redis = await startRedis(t);
  const one = await openNode(t, { postgres, redis: redis.url });
  const two = await openNode(t, { postgres, redis: redis.url });
  const rows = await AccountRows.insert(one.database);

  t.test('on one node counts there at once, and on the others within a second', async (t) => {
    const { key, id } = await rows.key();
    for (const node of [one, two]) {
      await node.bearer(key);
      t.ok(node.remembers(key));
    }
    await rows.revoke(id);
    t.ok(one.remembers(key) && two.remembers(key), 'nobody was told yet');
    const announced = one.rights.announce(id);
    t.equal(await refusal(() => one.bearer(key)), 'api_key_revoked');
    await announced;
    await until(() => refusedBy(two.bearer, key), {
      what: 'the other node refuses the key',
    });
  });

  t.test('while the key is being read', async (t) => {
    const { key: unannounced, id: unannouncedId } = await rows.key();
    const { key, id } = await rows.key();
    const hold = await holdReads(t, one.database);

    // First that the trick is one: the read saw the key before it was revoked, and comes back
    // after. The other node reads it: the checks of one node are read one after another.
    const stale = one.bearer(unannounced);
    await hold.reached(1);
    await rows.revoke(unannouncedId);

    const outcome = refusal(() => two.bearer(key));
    await hold.reached(2);
    await rows.revoke(id);
    await one.rights.announce(id);
    // Frames of one channel arrive in order: when the second has arrived, the first has too.
    const told = new Promise<void>((resolve) => {
      two.rights.onChange((subject) => subject === 'key_last' && resolve());
    });
    await one.rights.announce('key_last');
    await told;
    await hold.end();

    t.match(
      await stale,
      { credential: { id: unannouncedId } },
      'without an announcement the old row is used',
    );
    t.equal(await outcome, 'api_key_revoked', 'with one it is read again');
    t.equal(await refusal(() => two.bearer(key)), 'api_key_revoked');
  });

  t.test('while the engine is away', async (t) => {
    const { key, id } = await rows.key();
    const { key: untouched } = await rows.key();
    await Promise.all([two.bearer(key), two.bearer(untouched)]);
    two.clock.nowMs += 999;
    t.equal(two.rights.maxAgeMs, 30_000);
    await redis.stop();
    await until(() => !one.engine.healthy && !two.engine.healthy, { what: 'both nodes notice' });
    t.equal(two.rights.maxAgeMs, 1_000);
    t.ok(two.remembers(untouched), 'younger than a second');
    two.clock.nowMs += 1;
    t.notOk(two.remembers(untouched), 'read again after one');
    await two.bearer(untouched);

    await two.bearer(key);
    await rows.revoke(id);
    await one.rights.announce(id);
    t.ok(two.remembers(key), 'it was not told');
    two.clock.nowMs += 1_000;
    t.equal(await refusal(() => two.bearer(key)), 'api_key_revoked', 'and finds out after a second');

    const { key: lost, id: lostId } = await rows.key();
    await two.bearer(lost);
    await rows.revoke(lostId);
    await redis.start();
    await until(() => refusedBy(two.bearer, lost), { what: 'everything is read again after the recovery' });
    t.equal(two.rights.maxAgeMs, 30_000);
  });

  t.test('announced while only the own link is away', async (t) => {
    const link = await startLink(t, redis.port);
    const three = await openNode(t, { postgres, redis: link.url });
    const { key, id } = await rows.key();
    await two.bearer(key);
    let told = 0;
    const forget = two.rights.onChange((subject) => {
      if (subject === id) told++;
    });
    link.cut();
    await rows.revoke(id);
    await three.rights.announce(id);
    t.equal(await refusal(() => three.bearer(key)), 'api_key_revoked');
    t.ok(two.remembers(key));
    link.mend();
    await until(() => told > 0, { what: 'the announcement is made when the link is back' });
    t.equal(await refusal(() => two.bearer(key)), 'api_key_revoked');
    t.ok(two.engine.healthy);
    forget();
  });
});

async function refusedBy(bearer: (key: string) => Principal | Promise<Principal>, key: string) {
  try {
    await bearer(key);
    return false;
  } catch {
    return true;
  }
}

/**
 * From here on every read of a principal waits in the middle of its statement, after its snapshot
 * was taken: the roles are behind a view that needs a lock which this test holds.
 */
async function holdReads(t: Teardown, database: Database) {
  const holder = await database.pool.connect();
  await holder.query('ALTER TABLE roles RENAME TO kept_roles');
  await holder.query(
    'CREATE VIEW roles AS SELECT * FROM kept_roles WHERE pg_advisory_xact_lock_shared(1) IS NOT NULL',
  );
  await holder.query('BEGIN');
  await holder.query('SELECT pg_advisory_xact_lock(1)');
  let held = true;
  const end = async () => {
    if (!held) return;
    held = false;
    // The view stays, and blocks no further reads.
    await holder.query('COMMIT');
    holder.release();
  };
  t.teardown(end);
  return {
    end,
    reached: (count: number) =>
      until(
        async () => {
          const { rows } = await holder.query(`
            SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
              AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`);
          return rows.length === count;
        },
        { what: `${count} reads under way` },
      ),
  };
}

/** One node's way to Redis. */
async function startLink(t: Teardown, port: number) {
  const sockets = new Set<Socket>();
  let whole = true;
  const server = createServer((socket) => {
    if (!whole) {
      socket.destroy();
      return;
    }
    const upstream = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    whole = false;
    for (const socket of sockets) socket.destroy();
  };
  t.teardown(() => {
    cut();
    server.close();
  });
  const address = server.address();
  const own = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `redis://127.0.0.1:${own}`,
    cut,
    mend: () => {
      whole = true;
    },
  };
}
