import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import { isFinding } from './second-run.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const FILES = globSync('test/**/*.test.ts', { cwd: ROOT });

t.test('what was seen once about loss, order, rights and the like is a finding', (t) => {
  const findings = new Set(FILES.filter((file) => isFinding(file, readFileSync(join(ROOT, file), 'utf8'))));
  for (const folder of ['test/access/', 'test/audit/', 'test/cells/', 'test/compliance/', 'test/gateway/']) {
    const inside = FILES.filter((file) => file.startsWith(folder));
    t.ok(inside.length > 0);
    t.strictSame(
      inside.filter((file) => !findings.has(file)),
      [],
      folder,
    );
  }
  const campaigns = FILES.filter((file) =>
    /from '[./]+campaigns\//.test(readFileSync(join(ROOT, file), 'utf8')),
  );
  t.ok(campaigns.length > 10);
  t.strictSame(
    campaigns.filter((file) => !findings.has(file)),
    [],
    'short runs of campaigns',
  );
  for (const file of ['test/architecture.test.ts', 'test/docs.test.ts', 'test/db/migrations.test.ts']) {
    t.ok(findings.has(file), file);
  }
  const others = FILES.filter((file) => !findings.has(file));
  t.ok(others.length > 150, 'most files may run once more');
  t.end();
});
