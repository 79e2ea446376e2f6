import { newId } from '@parley/protocol/ids.ts';
import t from 'tap';
import { channelOf, PARTITIONS, partitionOf, redisName } from '../../src/platform/engine/partitions.ts';

t.test('names are fixed: another hash would reset every counter', async (t) => {
  t.equal(redisName('ch', 'rights'), 'parley:ch:{p130}:rights');
  t.equal(redisName('seq', 'cnv_1'), 'parley:seq:{p109}:cnv_1');
  t.equal(redisName('tally', 'credentials:key_1'), 'parley:tally:{p206}:credentials:key_1');
});

t.test('a name leads back to its channel', async (t) => {
  for (const channel of ['rights', newId('conversation'), 'node:Zürich', '{p001}:x']) {
    t.equal(channelOf(Buffer.from(redisName('ch', channel))), channel);
  }
});

t.test('ids spread over all partitions, and all names of a partition share a hash tag', async (t) => {
  const counts = new Array<number>(PARTITIONS).fill(0);
  const tags = Array.from({ length: PARTITIONS }, () => new Set<string>());
  for (let n = 0; n < 50 * PARTITIONS; n++) {
    const id = newId('conversation');
    const partition = partitionOf(id);
    counts[partition]! += 1;
    for (const kind of ['ch', 'seq', 'tally'] as const) tags[partition]!.add(hashTag(redisName(kind, id)));
  }
  t.ok(
    Math.min(...counts) > 15 && Math.max(...counts) < 100,
    `${Math.min(...counts)} to ${Math.max(...counts)}`,
  );
  t.ok(tags.every(({ size }) => size === 1));
  t.equal(new Set(tags.flatMap((tag) => [...tag])).size, PARTITIONS);
});

/** Returns the part of a name by which Redis Cluster chooses a slot. */
function hashTag(name: string): string {
  return /\{(.+?)\}/.exec(name)?.[1] ?? name;
}
