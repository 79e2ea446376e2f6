import t from 'tap';
import { createMetrics } from '../src/metrics.ts';

t.test('every metric has its name, its help and a registry of its own', async (t) => {
  const [one, other] = [createMetrics(), createMetrics()];
  one.httpRequests.inc({ route: '/v1/roles', status: 200 });
  one.voids.inc(3);
  one.engineHealthy.set(1);
  const text = await one.registry.metrics();
  t.match(text, 'parley_http_requests_total{route="/v1/roles",status="200"} 1');
  t.match(text, 'parley_voids_total 3');
  t.match(text, 'parley_engine_healthy 1');
  t.match(text, 'process_resident_memory_bytes');
  t.match(await other.registry.metrics(), 'parley_voids_total 0');
  const { registry: _, ...metrics } = one;
  const names = (await one.registry.getMetricsAsJSON()).map(({ name }) => name);
  t.equal(names.filter((name) => name.startsWith('parley_')).length, Object.keys(metrics).length);
});
