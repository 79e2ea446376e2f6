import type { Database } from '../../platform/db/connection/database.ts';
import type { Logger } from '../../platform/log.ts';
import type { Config } from '../config.ts';

/** What a command of the operator works with. */
export interface AdminContext {
  /** With the schema of this version. */
  readonly database: Database;
  readonly config: Pick<
    Config,
    | 'tokenSecret'
    | 'auditKey'
    | 'auditOldKeys'
    | 'dataDir'
    | 'publicUrl'
    | 'redisUrl'
    | 's3'
    | 'storedBytesPerAccount'
    | 'fetchAllow'
  >;
  readonly log: Logger;
  /** Prints an object on its own line; resolves when more can be printed. */
  readonly print: (line: object) => Promise<void>;
}
