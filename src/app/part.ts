import type { Config } from '../platform/config/config.ts';
import type { Disposer } from '../platform/lifecycle.ts';
import type { Logger } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';

/** The dependencies of every part. Parts register with the disposer in the order of their start. */
export interface PartOptions {
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly disposer: Disposer;
}
