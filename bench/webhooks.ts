import { randomBytes } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import { changeListeners } from '../src/core/accounts/account/listeners.ts';
import { compareWith } from './lib/compare.ts';
import { type Block, compareBy, type Side } from './lib/pairs.ts';
import { type BenchDatabase, checkpoint, drainOutbox, startPostgres } from './lib/postgres.ts';
import { comparisonRow } from './lib/row.ts';
import { SendStand } from './lib/send-stand.ts';
import { ServerProcess } from './lib/server-process.ts';
import { until } from './lib/until.ts';
import type { Session, Work } from './lib/work.ts';

/** The processor time that a webhook for all events adds to a send, of the node and of Postgres. */
export const WEBHOOKS: Work = { name: 'webhooks', title: 'sends with a webhook', fullOnly: true, run };

async function run(session: Session): Promise<void> {
  const { disposer } = session;
  const databases = await startPostgres(disposer, ['plain', 'hooked']);
  const plain = await SendStand.open(session, databases.plain, { name: 'plain' });
  const env = { PARLEY_FETCH_ALLOW: '127.0.0.1' };
  const hooked = await SendStand.open(session, databases.hooked, { name: 'hooked', env });
  const receiver = await startReceiver(session);
  await addWebhook(databases.hooked, hooked, receiver);
  const before = async () => {
    for (const database of Object.values(databases)) {
      await drainOutbox(database);
      await checkpoint(database);
    }
  };
  const atRate = `sends at ${RATE}/s, a webhook for all events: node and Postgres`;
  await session.part(atRate, async () => {
    const ours = paced(hooked, 'hooked');
    const against = [{ work: atRate, control: paced(plain, 'plain'), atMost: MOST }];
    const findings = await compareWith(session, { unit: 'µs', ours, against, before });
    await requireDeliveries(databases.hooked);
    return findings;
  });
  const work = `sends, ${CONNECTIONS} connections, a webhook for all events`;
  await session.part(work, async () => {
    const ours = hooked.side(CONNECTIONS, 'direct');
    const against = [{ work, control: plain.side(CONNECTIONS, 'direct') }];
    const findings = await compareWith(session, { unit: '/s', ours, against, before });
    const compared = compareBy(findings.comparisons![work]!, processorTime);
    const row = comparisonRow(`${work}: node and Postgres`, compared, 'µs', { atMost: MOST });
    await requireDeliveries(databases.hooked);
    return {
      ...findings,
      rows: [...findings.rows, { ...row, processor: { ours: {}, control: {} } }],
      facts: { 'events of a send': 1, receiver: 'uWebSockets.js, 204, in another process' },
    };
  });
}

const CONNECTIONS = 64;
const MOST = 1.3;
/** About a third of a node's most, so that both sides do the same work in the same time. */
const RATE = 2_500;

/** Sends at a fixed rate, and measures processor time until all effects are done. */
function paced(stand: SendStand, name: string): Side {
  let seed = 0;
  return {
    name,
    run: async (durationMs) => {
      seed += 1;
      const { processor, latencyUs } = await stand.sendAtRate(RATE, durationMs, seed);
      return {
        figure: processorTime({ processor }),
        processor,
        notes: { p99_ms: latencyUs.p99 / 1_000 },
      };
    },
  };
}

function processorTime({ processor }: Pick<Block, 'processor'>): number {
  return (processor?.node ?? Number.NaN) + (processor?.postgres ?? Number.NaN);
}

export async function startReceiver({ disposer }: Session): Promise<string> {
  const receiver = disposer.add(
    'receiver',
    new ServerProcess({ entry: 'bench/servers/receiver.ts' }),
    (process) => process.stop(),
  );
  const { port } = await receiver.message<{ port: number }>();
  return `http://127.0.0.1:${port}/`;
}

export async function addWebhook(
  { database }: BenchDatabase,
  { product }: SendStand,
  url: string,
  eventType = '*',
): Promise<string> {
  const id = newId('webhook');
  const { account_id, users } = product.demo;
  await database.transaction(async (tx) => {
    await tx.kysely
      .insertInto('webhooks')
      .values({
        id,
        account_id,
        url,
        version: NEWEST_VERSION,
        created_by: users.ada.id,
        event_types: [eventType],
        include_direct: true,
        secret: randomBytes(24),
      })
      .execute();
    await changeListeners(tx);
  });
  return id;
}

/** Removes the webhooks and their deliveries. */
export async function removeWebhooks({ database }: BenchDatabase): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.kysely.deleteFrom('webhooks').execute();
    await tx.kysely.deleteFrom('webhook_deliveries').execute();
    await changeListeners(tx);
  });
}

/** Requires that events were sent, and waits for the last deliveries. */
async function requireDeliveries({ database }: BenchDatabase): Promise<void> {
  const count = async (where: string) => {
    const { rows } = await database.pool.query(`SELECT count(*) FROM webhook_deliveries ${where}`);
    return Number(rows[0]!.count);
  };
  if ((await count('')) === 0) throw new Error('no events were delivered');
  await until(async () => (await count("WHERE status <> 'delivered'")) === 0, 'all events to be delivered');
}
