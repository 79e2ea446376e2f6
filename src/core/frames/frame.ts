import type { DeclaredStatus } from '@parley/protocol/resources/activity.ts';
import type { RightsChangedFrame } from '../../api/access/rights.ts';
import type { TextPosition } from './text-position.ts';

/**
 * The messages between nodes, by kind. A frame for sockets carries the bytes of its event for each
 * audience; nodes order and route it by the other fields and pass the bytes on unparsed.
 * frame-codec.ts has the layout on Redis.
 *
 * Frames are the hottest objects of a node: all frames of a kind have the same properties in the
 * same order, and no property is optional.
 */
export type Frame =
  | BroadcastFrame
  | VoidFrame
  | FilledFrame
  | AskFrame
  | PresenceFrame
  | RightsChangedFrame
  | InboxChangedFrame
  | FiguresFrame;

/** A frame whose bytes are published to sockets. */
export type BroadcastFrame = CommittedFrame | EphemeralFrame | PieceFrame | SnapshotFrame;

/** A durable event: committed in Postgres before it is published, and sent again after a break. */
export type CommittedFrame = CreatedFrame | UpdatedFrame | DurableFrame;

/** The encoded event, ready for sockets. */
interface EventBytes {
  /** The event for the team, or undefined if the team does not get it. */
  readonly team: Buffer | undefined;
  /** The event for customers, or undefined if customers do not get it. */
  readonly customer: Buffer | undefined;
}

export interface Committed<Kind> extends EventBytes {
  readonly kind: Kind;
  /** Id of the conversation or actor whose events are ordered together. */
  readonly stream: string;
  /** Id of the resource that the event is about, or of something that belongs to it (`partOf`). */
  readonly resource: string;
  /** Number of the message in its conversation; 0 for events outside the timeline. */
  readonly sequence: number;
  /** `updated_at` of the resource in microseconds since 1970. */
  readonly updatedAtUs: number;
  /** Whether the text of the resource is still being written: its pieces follow. */
  readonly streaming: boolean;
  /** Whether the resource has lost its content: nodes drop its earlier frames. */
  readonly erases: boolean;
}

/** A message entered the timeline under `sequence`. */
export type CreatedFrame = Committed<'created'>;

/** A sent message changed: delivered after the message itself. */
export type UpdatedFrame = Committed<'updated'>;

/** Any other durable event. */
export type DurableFrame = Committed<'durable'>;

/** An event that is never sent again, and that slow readers lose first. */
export interface EphemeralFrame extends EventBytes {
  readonly kind: 'ephemeral';
  readonly stream: string;
  /** Id of the resource that the event is about. */
  readonly resource: string;
}

export interface TextFrame<Kind = 'piece' | 'snapshot'> extends EventBytes {
  readonly kind: Kind;
  readonly stream: string;
  /** Id of the message that is being streamed. */
  readonly messageId: string;
  /** Its number in the conversation; 0 for a draft. */
  readonly sequence: number;
  readonly position: TextPosition;
}

/** A piece of a text that is being streamed: an ephemeral event that readers need in order. */
export type PieceFrame = TextFrame<'piece'>;

/**
 * The answer to an AskFrame: `message.snapshot`, the text up to its position. Nodes decide which
 * readers need it.
 */
export type SnapshotFrame = TextFrame<'snapshot'>;

/** No message will ever have this number. */
export interface VoidFrame {
  readonly kind: 'void';
  readonly stream: string;
  readonly sequence: number;
}

/**
 * Numbers up to this one are committed without frames of their own: they are read from Postgres.
 */
export interface FilledFrame {
  readonly kind: 'filled';
  readonly stream: string;
  readonly sequence: number;
}

/** Asks the writer of a message for a snapshot of its text. */
interface AskFrame {
  readonly kind: 'ask';
  readonly stream: string;
  readonly messageId: string;
}

/** The actors with sockets on one node in a conversation (edge/gateway/presence/presence.ts). */
export interface PresenceFrame {
  readonly kind: 'presence';
  readonly stream: string;
  readonly nodeId: string;
  /** Undefined if a node of another version sent a report that this one cannot read. */
  readonly report: PresenceReport | undefined;
}

export interface PresenceReport {
  /** Whether the node has just begun to listen, and asks other nodes for their reports. */
  readonly asks: boolean;
  readonly present: readonly PresentActor[];
}

/**
 * An actor on one node. `here` is false if its last socket closed a short while ago. Nodes of the
 * previous version have no `externalId`, as actors without one.
 */
export type PresentActor = readonly [
  actorId: string,
  status: DeclaredStatus,
  here: boolean,
  externalId?: string,
];

/** Inbox rows were written (core/inbox/writer.ts): nodes send new counts to affected sockets. */
export interface InboxChangedFrame {
  readonly kind: 'inbox_changed';
  readonly accountId: string;
  readonly change: InboxChange;
}

export interface InboxChange {
  readonly actors: readonly string[];
  /** Conversations with too many members to name them here. */
  readonly large: readonly string[];
  /** Direct messages among the conversations; undefined from nodes of the previous version. */
  readonly direct: readonly string[] | undefined;
  /**
   * All of the conversations, each with the places in `actors` of the actors whose lists may show
   * it differently; undefined from nodes of the previous version.
   */
  readonly conversations: readonly ChangedInLists[] | undefined;
}

interface ChangedInLists {
  readonly id: string;
  readonly actors: readonly number[];
}

/** The figures that a node sends to other nodes every two seconds (core/installation/nodes.ts). */
interface FiguresFrame {
  readonly kind: 'figures';
  readonly nodeId: string;
  /** JSON; its readers know nodes of other versions. */
  readonly report: string;
}

export function isCommitted(frame: Frame): frame is CommittedFrame {
  return frame.kind === 'created' || frame.kind === 'updated' || frame.kind === 'durable';
}

/** Returns the id under which events about a part (docs/glossary.md) of a resource are ordered. */
export function partOf(id: string, part: 'messages' | 'reactions' | 'pin'): string {
  return `${id}/${part}`;
}

/** Returns the id of the resource itself. */
export function ownerOf(resource: string): string {
  const end = resource.indexOf('/');
  return end === -1 ? resource : resource.slice(0, end);
}

/** Returns whether an event is about a part. */
export function isOfPart({ resource }: Pick<CommittedFrame, 'resource'>): boolean {
  return resource.includes('/');
}
