import { join } from 'node:path';
import { BUILD } from '../platform/build.ts';
import { placeOf } from '../platform/db/connection/servers.ts';
import type { Config } from './config.ts';
import type { Data } from './data.ts';

export type RunsOn = Readonly<ReturnType<typeof describeNode>>;

/** Describes the node for the log line of its start: hosts, versions, paths, no secret. */
export function describeNode(config: Config, { database, databaseUrl, engineDescription }: Data) {
  const place = config.databaseUrl === null ? 'embedded' : placeOf(databaseUrl);
  return {
    database: `${place}, PostgreSQL ${database.serverVersion}`,
    engine: engineDescription,
    files: config.s3 === null ? join(config.dataDir, 'uploads') : `s3://${config.s3.bucket}`,
    /** The providers of models, in the order in which they first occur. */
    models: database.hooks
      .all('modelProviders')
      .flatMap((providersOf) => providersOf(config))
      .join(', '),
    ...BUILD,
  };
}
