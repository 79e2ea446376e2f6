import type { CommandContext } from '../../core/features/command.ts';
import type { Config } from '../config.ts';

/** What a command of the core works with. */
export interface AdminContext extends CommandContext {
  readonly config: Pick<Config, 'dataDir' | 'publicUrl' | 's3' | 'tokenSecret' | 'redisUrl'>;
}
