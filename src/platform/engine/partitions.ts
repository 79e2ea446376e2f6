/**
 * The names of channels and counters in Redis: `parley:ch:{p017}:<channel>`. The tag in braces is
 * the partition, a stable hash of the channel or stream onto a fixed number. So a Redis Cluster
 * keeps a partition in one slot without any name being changed
 * (DECISIONS.md#names-in-redis-carry-a-fixed-partition).
 */
export const PARTITIONS = 256;

/** Returns the part of a name by which a Redis Cluster chooses its slot. */
export function tagOf(partition: number): string {
  return `p${String(partition).padStart(3, '0')}`;
}

const TAGS = Array.from({ length: PARTITIONS }, (_, index) => `{${tagOf(index)}}:`);
const TAG_LENGTH = '{p000}:'.length;

type NameKind = 'ch' | 'seq' | 'tally';

export function redisName(kind: NameKind, id: string): string {
  return `parley:${kind}:${TAGS[partitionOf(id)]}${id}`;
}

export function channelName(channel: string): string {
  return redisName('ch', channel);
}

/** Returns the channel of a name, as the inverse of `channelName`. */
export function channelOf(name: Buffer): string {
  return name.toString('utf8', CHANNEL_START);
}

const CHANNEL_START = 'parley:ch:'.length + TAG_LENGTH;

/** Returns the partition by FNV-1a over UTF-16 units. Another hash would rename every counter. */
export function partitionOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < id.length; index++) {
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193);
  }
  // The low bits of the hash depend only on the low bits of each character.
  return ((hash >>> 16) ^ hash) & (PARTITIONS - 1);
}

/** Returns the fixed channel of a partition for this prefix. */
export function channelIn(start: string, partition: number): string {
  for (let n = 0; ; n++) {
    const channel = `${start}:${n}`;
    if (partitionOf(channel) === partition) return channel;
  }
}

/** Returns the channels of each partition that has any. */
export function bySlot(channels: readonly string[]): string[][] {
  return [...Map.groupBy(channels, partitionOf).values()];
}
