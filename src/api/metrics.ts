import { type Metrics, metricsIn } from '../platform/metrics.ts';

export type ApiMetrics = ReturnType<typeof apiMetrics>;

/** Adds the metrics of requests to the registry of a node, once. */
export function apiMetrics({ registry }: Pick<Metrics, 'registry'>) {
  const { counter, histogram } = metricsIn(registry);
  return {
    httpRequests: counter(
      'parley_http_requests_total',
      'Requests answered, by method, route pattern and status',
      ['method', 'route', 'status'],
    ),
    /** Measured from the request's headers to its answer. */
    httpSeconds: histogram(
      'parley_http_request_duration_seconds',
      'Time to answer a request, by method and route pattern',
      ['method', 'route'],
    ),
    httpRefusals: counter(
      'parley_http_refusals_total',
      'Requests answered with the error envelope, by the code of the error',
      ['code'],
    ),
  };
}
