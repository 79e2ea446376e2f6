/** An interrupted full run goes on where it ended, if the code is still the same. */

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Unfinished } from '../../bench/lib/unfinished.ts';
import type { Findings } from '../../bench/lib/work.ts';

const row = (work: string) => ({
  work,
  ours: '',
  control: '',
  ratio: null,
  processor: { ours: {}, control: {} },
  goal: null,
});
const findings = (work: string): Findings => ({ rows: [row(work)] });

t.test('parts and works that were measured are found again', async (t) => {
  const path = join(t.testdir(), 'unfinished.json');
  const first = Unfinished.open(path, 'code');
  t.equal(first.size, 0);
  first.keepPart('p2', '64', findings('64'));
  first.keepPart('p2', '256', findings('256'));
  first.keepPart('p20', '64', findings('another work'));
  const second = Unfinished.open(path, 'code');
  t.same(second.part('p2', '256'), findings('256'));
  t.equal(second.part('p2', 'groups'), undefined);
  t.equal(second.work('p2'), undefined);
  second.keepWork('p2', findings('whole'));
  const third = Unfinished.open(path, 'code');
  t.same(third.work('p2'), findings('whole'));
  t.equal(third.part('p2', '64'), undefined, 'the whole stands for its parts');
  t.same(third.part('p20', '64'), findings('another work'));
  t.equal(third.size, 2);
  third.keepWork('p20', findings('whole'));
  third.forget(['p2']);
  t.equal(third.work('p2'), undefined);
  t.same(Unfinished.open(path, 'code').work('p20'), findings('whole'), 'those of other works stay');
  third.forget(['p20']);
  t.notOk(existsSync(path));
});

t.test('other code begins anew, and so does a file that was cut off', async (t) => {
  const path = join(t.testdir(), 'unfinished.json');
  Unfinished.open(path, 'code').keepPart('p1', 'a', findings('a'));
  t.equal(Unfinished.open(path, 'changed code').part('p1', 'a'), undefined);
  writeFileSync(path, '{"fingerprint":"code","par');
  t.equal(Unfinished.open(path, 'code').size, 0);
});

t.test('nothing is kept without a fingerprint', async (t) => {
  const path = join(t.testdir(), 'unfinished.json');
  Unfinished.open(path, null).keepPart('p1', 'a', findings('a'));
  t.notOk(existsSync(path));
});
