/** docs/contract.md lists exactly the endpoints that customers may call. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { borrowTestApp } from '../support/app.ts';

const { routes } = await borrowTestApp(t);

t.test('the table of docs/contract.md has the endpoints that are open to customers', async (t) => {
  const contract = readFileSync(join(import.meta.dirname, '../../docs/contract.md'), 'utf8');
  const section = contract.split('### Customers\n')[1]!.split('\n### ')[0]!;
  const listed = [...section.matchAll(/`(GET|POST|PUT|PATCH|DELETE) (\/v1\/[^`]*)`/g)];
  const open = routes.filter(({ customers }) => customers === true);
  t.strictSame(
    listed.map(([, method, path]) => `${method} ${path}`).sort(),
    open.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`).sort(),
  );
});
