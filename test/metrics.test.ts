import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { createNodeMetrics, type NodeMetrics } from '../src/app/metrics.ts';
import { BUILD } from '../src/platform/build.ts';

const ROOT = join(import.meta.dirname, '..');

t.test('every metric has its name, its help and a registry of its own', async (t) => {
  const [one, other] = [createNodeMetrics(), createNodeMetrics()];
  one.httpRequests.inc({ method: 'GET', route: '/v1/roles', status: 200 });
  one.voids.inc(3);
  one.engineHealthy.set(1);
  const text = await one.registry.metrics();
  t.match(text, 'parley_http_requests_total{method="GET",route="/v1/roles",status="200"} 1');
  t.match(text, 'parley_voids_total 3');
  t.match(text, 'parley_engine_healthy 1');
  t.match(text, `parley_build_info{version="${BUILD.version}",node="${BUILD.node}"} 1`);
  t.match(text, 'process_resident_memory_bytes');
  t.match(await other.registry.metrics(), 'parley_voids_total 0');
  const { registry: _, ...metrics } = one;
  const all = await one.registry.getMetricsAsJSON();
  const names = all.map(({ name }) => name);
  for (const { name, type } of all) {
    t.equal(name.endsWith('_total'), String(type) === 'counter', `counters alone end with _total: ${name}`);
  }
  t.equal(names.filter((name) => name.startsWith('parley_')).length, Object.keys(metrics).length);
});

t.test('docs/operations.md has each of them in the words of the registry, and no other', async (t) => {
  const metrics = (await (await allMetrics()).getMetricsAsJSON()).filter(({ name }) =>
    name.startsWith('parley_'),
  );
  const rows = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8').matchAll(
    /^\| `(parley_\w+)` \| (\w+) \| (.*) \|$/gm,
  );
  t.strictSame(
    [...rows].map(([, name, type, help]) => ({ name, type, help })).sort(byName),
    metrics.map(({ name, type, help }) => ({ name, type: String(type), help })).sort(byName),
  );
});

t.test('every metric that an alert names exists', async (t) => {
  const names = (await (await allMetrics()).getMetricsAsJSON()).map(({ name }) => name);
  const used = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8').match(/\bparley_[a-z_]+/g) ?? [];
  t.ok(used.length > names.filter((name) => name.startsWith('parley_')).length, 'some are in alerts too');
  for (const name of new Set(used)) t.ok(names.includes(name.replace(/_(bucket|sum|count)$/, '')), name);
});

t.test('statements are named in one style', async (t) => {
  const odd: string[] = [];
  let found = 0;
  for (const path of globSync('src/**/*.ts', { cwd: ROOT })) {
    const text = readFileSync(join(ROOT, path), 'utf8');
    // statement<…>('name')`SQL`
    for (const [, name = ''] of text.matchAll(/\(\s*['`]([^'`]+)['`],?\s*\)`\s/g)) {
      found += 1;
      if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name.replace(/\$\{\w+\}/g, 'x'))) odd.push(`${path}: ${name}`);
    }
  }
  t.strictSame(odd, []);
  t.ok(found > 400, `${found} statements`);
});

/** Returns the registry of a node that has opened every feature. */
async function allMetrics(): Promise<NodeMetrics['registry']> {
  const { registry } = createNodeMetrics();
  for (const path of globSync('src/features/*/metrics.ts', { cwd: ROOT })) {
    const added: Readonly<Record<string, (node: Pick<NodeMetrics, 'registry'>) => object>> = await import(
      join(ROOT, path)
    );
    for (const addMetrics of Object.values(added)) addMetrics({ registry });
  }
  return registry;
}

interface Named {
  readonly name: string | undefined;
}

function byName(a: Named, b: Named): number {
  return `${a.name}` < `${b.name}` ? -1 : 1;
}
