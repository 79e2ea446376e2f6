import { apiMetrics } from '../api/metrics.ts';
import { coreMetrics } from '../core/metrics.ts';
import { gatewayMetrics } from '../edge/gateway/metrics.ts';
import { createMetrics } from '../platform/metrics.ts';

export type NodeMetrics = ReturnType<typeof createNodeMetrics>;

/**
 * Creates the metrics of a node; features add their own to the registry when they are opened.
 * `ofProcess`: whether it observes the process too.
 */
export function createNodeMetrics(options: { readonly ofProcess?: boolean } = {}) {
  const metrics = createMetrics(options);
  return { ...metrics, ...apiMetrics(metrics), ...coreMetrics(metrics), ...gatewayMetrics(metrics) };
}
