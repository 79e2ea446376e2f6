import { Avatars } from '../core/accounts/avatars/avatars.ts';
import { openObjectStore } from '../core/attachments/open-store.ts';
import { SigningKey } from '../core/audit/signing-key.ts';
import type { NodeParts } from '../core/features/feature.ts';
import { requireDurability } from '../core/installation/durability.ts';
import { INDEXES } from '../core/tables/indexes.ts';
import { Cursors } from '../edge/gateway/changes/cursors.ts';
import { openDatabase } from '../platform/db/connection/database.ts';
import { acquireNodeLock } from '../platform/db/connection/node-lock.ts';
import { warnOfPlaces } from '../platform/db/connection/warn-of-places.ts';
import { migrate } from '../platform/db/migration/migrate.ts';
import { DueWatch } from '../platform/db/queue/due-watch.ts';
import type { Hooks } from '../platform/hooks.ts';
import type { Config } from './config.ts';
import { databaseUrlOf } from './database-url.ts';
import { openEngineOf } from './engine.ts';
import type { NodeMetrics } from './metrics.ts';
import type { Urls } from './urls.ts';

/** The dependencies of every part. Parts register with the disposer in the order of their start. */
export interface PartOptions extends Pick<NodeParts, 'log' | 'disposer'> {
  readonly metrics: NodeMetrics;
  readonly config: Config;
}

export type Data = Awaited<ReturnType<typeof openData>>;

/** Opens a node's Postgres, its store of files and its engine, which connects it to others. */
export async function openData({ config, log, metrics, disposer }: PartOptions, urls: Urls, hooks: Hooks) {
  const databaseUrl = await databaseUrlOf(config, log, disposer);
  const directUrl = config.databaseDirectUrl ?? undefined;
  const database = await openDatabase({
    url: databaseUrl,
    directUrl,
    log,
    hooks,
    metrics,
    processes: config.processes,
  });
  disposer.add('database', database, (it) => it.close());
  await migrate(database, INDEXES, log);
  if (!config.acceptsUnsafePostgres) await requireDurability(database, log);
  const mode = config.redisUrl === null ? 'exclusive' : 'shared';
  const onRefused = (error: unknown) => database.refused(error);
  const lock = await acquireNodeLock({ primary: database.direct, mode, log, onRefused });
  disposer.add('lock', lock, (it) => it.close());
  database.belongsTo(lock);
  await warnOfPlaces(database, log);
  // Started after all parts have added to it. A look takes less on a pipelined connection than on
  // the pool, and no short query waits behind a delayed look.
  const watch = disposer.add('watch of due work', new DueWatch({ database: database.bulk, log }), (it) =>
    it.close(),
  );
  const opened = await openEngineOf({ config, log, metrics }, database, watch);
  const { engine, description: engineDescription } = opened;
  disposer.add('engine', engine, (it) => it.close());
  const cursors = disposer.add('cursors', await Cursors.start(database, engine, log), (it) => it.close());

  const { store, files } = await openObjectStore({
    database,
    s3: config.s3,
    dataDir: config.dataDir,
    accountBytes: config.storedBytesPerAccount,
    baseUrl: () => urls.public,
  });
  disposer.add('object store', store, (it) => it.close());
  if (files !== undefined && config.redisUrl !== null) {
    log.info('uploads are stored in PARLEY_DATA_DIR: share it between all nodes, or set PARLEY_S3_BUCKET');
  }
  const signingKey = await SigningKey.open({
    key: config.auditKey,
    oldKeys: config.auditOldKeys,
    dataDir: config.dataDir,
  });
  if (config.auditKey === null && config.redisUrl !== null) {
    log.info(
      'the key of the audit is in PARLEY_DATA_DIR: share it between all nodes, or set PARLEY_AUDIT_KEY',
    );
  }
  const avatars = new Avatars({ database, store, baseUrl: () => urls.public });
  return {
    databaseUrl,
    database,
    watch,
    lock,
    engine,
    engineDescription,
    cursors,
    store,
    files,
    avatars,
    signingKey,
  };
}
