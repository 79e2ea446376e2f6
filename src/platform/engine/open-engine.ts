import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Engine, Notices } from './engine.ts';
import { MemoryEngine } from './memory-engine.ts';

/**
 * Returns the engine with a description for the log line of the start. Without `notices`, a
 * frame that Redis does not take is refused.
 */
export async function openEngine(
  { redisUrl }: { readonly redisUrl: string | null },
  log: Logger,
  metrics: Metrics,
  notices?: Notices,
): Promise<{ engine: Engine; description: string }> {
  if (redisUrl === null) return { engine: new MemoryEngine(), description: 'memory' };
  // Loaded here, because a node without Redis does not need the library.
  const { RedisEngine } = await import('./redis-engine.ts');
  const engine = await RedisEngine.connect({ url: redisUrl, log, metrics, notices });
  const version = engine.serverVersion === null ? '' : `, Redis ${engine.serverVersion}`;
  return { engine, description: `${new URL(redisUrl).host}${version}` };
}
