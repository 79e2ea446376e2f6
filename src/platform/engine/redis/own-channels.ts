import { channelIn, partitionOf } from '../partitions.ts';

/** The channels by which an engine proves its link and says what it has published. */
export interface OwnChannels {
  /** The channel for the proofs of this node alone. */
  readonly proof: string;
  /** The channel on which this node announces its counters. */
  readonly announcements: string;
  /** All channels that it subscribes to. */
  readonly all: ReadonlySet<string>;
}

/**
 * Returns an engine's own channels. In a cluster each partition has a channel for announcements:
 * nodes that disagree about some partitions of a master hear each other on the rest. The channel
 * for proofs stays the same if its partition does.
 */
export function ownChannels(
  nodeId: string,
  partitions?: readonly number[],
  proofBefore?: string,
): OwnChannels {
  if (partitions === undefined) return of(`node:${nodeId}`, [ANNOUNCEMENTS]);
  const keepsProof = proofBefore !== undefined && partitions.includes(partitionOf(proofBefore));
  const proof = keepsProof ? proofBefore : channelIn(`node:${nodeId}`, partitions[0]!);
  return of(
    proof,
    partitions.map((partition) => channelIn(ANNOUNCEMENTS, partition)),
  );
}

export function isAnnouncements(channel: string): boolean {
  return channel.startsWith(ANNOUNCEMENTS);
}

function of(proof: string, announcements: readonly string[]): OwnChannels {
  return { proof, announcements: announcements[0]!, all: new Set([proof, ...announcements]) };
}

/** No other channel begins with it. */
const ANNOUNCEMENTS = 'nodes';
