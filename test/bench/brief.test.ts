/** Every work of the bench runs briefly in one file of test/long/bench/. */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { WORKS } from '../../bench/works.ts';
import { NAMES } from './brief.ts';

const folder = join(import.meta.dirname, '../long/bench');
t.strictSame(
  Object.values(NAMES).flat().toSorted(),
  WORKS.map(({ name }) => name).toSorted(),
  'every work in one set',
);
t.strictSame(
  readdirSync(folder).toSorted(),
  Object.keys(NAMES)
    .map((name) => `${name}.test.ts`)
    .toSorted(),
  'every set in one file',
);
