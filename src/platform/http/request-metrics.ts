import { CounterSeries, HistogramSeries } from '../metric-series.ts';
import type { Metrics } from '../metrics.ts';

/** Counts and times the answers of the server; the series of each route are looked up once. */
export class RequestMetrics {
  readonly #metrics: Pick<Metrics, 'httpRequests' | 'httpSeconds'>;
  /** By route and method. */
  readonly #series = new Map<string, Map<string, RouteSeries>>();

  constructor(metrics: Pick<Metrics, 'httpRequests' | 'httpSeconds'>) {
    this.#metrics = metrics;
  }

  record(sentMethod: string, route: string, status: number, ms: number): void {
    const method = METHODS.has(sentMethod) ? sentMethod : 'other';
    const series = this.#series.get(route)?.get(method) ?? this.#open(route, method);
    series.seconds.observe(ms / 1_000);
    let answers = series.byStatus.get(status);
    if (answers === undefined) {
      answers = new CounterSeries(this.#metrics.httpRequests, { method, route, status });
      series.byStatus.set(status, answers);
    }
    answers.inc();
  }

  #open(route: string, method: string): RouteSeries {
    const seconds = new HistogramSeries(this.#metrics.httpSeconds, { method, route });
    const series: RouteSeries = { seconds, byStatus: new Map() };
    const ofRoute = this.#series.get(route);
    if (ofRoute === undefined) this.#series.set(route, new Map([[method, series]]));
    else ofRoute.set(method, series);
    return series;
  }
}

interface RouteSeries {
  readonly seconds: HistogramSeries;
  readonly byStatus: Map<number, CounterSeries>;
}

/** Methods that are counted by name; callers may send any word. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
