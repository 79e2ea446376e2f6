import { PARTITIONS, tagOf } from '../partitions.ts';

/** What servers of a Redis Cluster say about it. */
export interface ClusterView {
  /** Where the master of each partition is, as `host:port`; undefined if none has its slot. */
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
 * Reads what servers say at the same time. Some learn of a move later than others: of those that
 * are said to have a slot, the one with the highest epoch has it, as the servers themselves settle
 * it.
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

/**
 * Of `ip:port@bus,hostname,…`: the host name where one is announced, since certificates have it.
 */
function whereOf(at: string, from: string): string {
  const [, ip = '', port = '', hostname] = /^(.*):(\d+)(?:@\d+)?(?:,([^,=]+)(?:,.*)?)?$/.exec(at) ?? [];
  const host = hostname ?? ip;
  // A server that was not met by any other does not know its address.
  if (host === '') return from;
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** A slot, or `first-last`; slots on their way to or from another server are in brackets. */
function rangeOf(text: string): readonly [number, number] {
  const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? [];
  return [Number(first), Number(last)];
}

/** CRC16 of XMODEM, of which Redis takes 14 bits. */
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
