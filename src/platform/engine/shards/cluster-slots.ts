import { PARTITIONS, tagOf } from '../partitions.ts';

/** The state of a Redis Cluster, as its servers describe it. */
export interface ClusterView {
  /** The master of each partition, as `host:port`; undefined if no server has its slot. */
  readonly masters: readonly (string | undefined)[];
  /** All servers, as `host:port`. */
  readonly servers: readonly string[];
}

/** An answer to CLUSTER NODES, and where it came from. */
export interface ClusterAnswer {
  readonly from: string;
  readonly text: string;
}

/**
 * Combines answers of the same time. Some servers learn of a move later: of the servers that are
 * said to have a slot, the one with the highest epoch has it, as the servers themselves decide.
 */
export function readClusterView(answers: readonly ClusterAnswer[]): ClusterView {
  const best: { epoch: number; server: string | undefined }[] = SLOTS.map(() => ({
    epoch: -1,
    server: undefined,
  }));
  const servers = new Set<string>();
  for (const { from, text } of answers) {
    for (const line of text.split('\n')) {
      const [, at = '', flags = '', , , , epochText, , ...ranges] = line.trim().split(' ');
      if (/noaddr|handshake/.test(flags) || at === '') continue;
      const server = whereOf(at, from);
      servers.add(server);
      const epoch = Number(epochText);
      const has = ranges.map(rangeOf);
      for (const [partition, slot] of SLOTS.entries()) {
        if (epoch <= best[partition]!.epoch || !has.some(([first, last]) => slot >= first && slot <= last))
          continue;
        best[partition] = { epoch, server };
      }
    }
  }
  return { masters: best.map(({ server }) => server), servers: [...servers] };
}

/** Reads `ip:port@bus,hostname,…`. Prefers an announced host name, since certificates have it. */
function whereOf(at: string, from: string): string {
  const [, ip = '', port = '', hostname] = /^(.*):(\d+)(?:@\d+)?(?:,([^,=]+)(?:,.*)?)?$/.exec(at) ?? [];
  const host = hostname ?? ip;
  // A server that was not met by any other does not know its address.
  if (host === '') return from;
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Reads a slot or `first-last`; slots on their way to or from another server are in brackets. */
function rangeOf(text: string): readonly [number, number] {
  const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? [];
  return [Number(first), Number(last)];
}

/** Returns the 14 bits that Redis takes of a CRC16 of XMODEM. */
function slotOf(tag: string): number {
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc % 16_384;
}

/** The slot of each partition. */
export const SLOTS: readonly number[] = Array.from({ length: PARTITIONS }, (_, partition) =>
  slotOf(tagOf(partition)),
);
