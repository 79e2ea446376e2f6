/**
 * What travels between nodes (design.md section 6): a header to order and route by, and the event's
 * bytes for each audience, ready for the sockets. Nodes read the header alone and pass bytes on
 * unparsed.
 *
 * Layout, little-endian: kind u8 · flags u8 · stream length u8 · resource length u8 ·
 * sequence f64 · updatedAtUs f64 · team length u32 · customer length u32 · stream · resource · team ·
 * customer. A length of 0 is "nothing for this audience".
 */
export interface Frame {
  readonly kind: FrameKind;
  /** What is ordered: a conversation's or an actor's id; for control frames whatever the kind says. */
  readonly stream: string;
  /** The resource the event is about; '' where there is none. */
  readonly resource: string;
  /** The message's number in its conversation; 0 for events outside the timeline. */
  readonly sequence: number;
  /**
   * `updated_at` of the resource in microseconds since 1970; 0 where it has none. Of a piece of a text that is
   * being written: its place in it (stream-place.ts).
   */
  readonly updatedAtUs: number;
  /** The text of the resource is still being written: pieces of it follow. */
  readonly streaming?: true;
  /** The event for the team, as socket bytes; undefined where the team gets none. */
  readonly team: Buffer | undefined;
  /** The same for customers. */
  readonly customer: Buffer | undefined;
}

export const FRAME_KINDS = {
  /** A message entered the timeline under `sequence`. */
  created: 1,
  /** `sequence` will never be a message. No bytes. */
  void: 2,
  /** A sent message changed: delivered after the message itself. */
  updated: 3,
  /** Any other durable event. */
  durable: 4,
  /** Never replayed, shed first. */
  ephemeral: 5,
  /** A right named by `stream` changed: what is cached of it is read again. No bytes. */
  invalidate: 6,
  /** What the node named by `resource` says of its sockets in a conversation (gateway/presence/presence.ts); for nodes alone. */
  presence: 7,
  /** Whoever writes the message named by `resource` is asked how far it is; for nodes alone. No bytes. */
  ask: 8,
  /** The answer: the bytes of its `message.snapshot`, at their place in the text; for nodes alone. */
  told: 9,
} as const;

export type FrameKind = (typeof FRAME_KINDS)[keyof typeof FRAME_KINDS];

const FIXED_BYTES = 28;
const STREAMING = 1;

/** Byte length of `encodeFrame(frame)`. */
export function frameBytes(frame: Frame): number {
  return (
    FIXED_BYTES +
    Buffer.byteLength(frame.stream, 'latin1') +
    Buffer.byteLength(frame.resource, 'latin1') +
    (frame.team?.length ?? 0) +
    (frame.customer?.length ?? 0)
  );
}

/** Throws a RangeError on ids that the header cannot carry: longer than 255 characters, or not latin1. */
export function encodeFrame(frame: Frame): Buffer {
  requireCarriable(frame.stream);
  requireCarriable(frame.resource);
  const bytes = Buffer.allocUnsafe(frameBytes(frame));
  bytes[0] = frame.kind;
  bytes[1] = frame.streaming === true ? STREAMING : 0;
  bytes[2] = frame.stream.length;
  bytes[3] = frame.resource.length;
  bytes.writeDoubleLE(frame.sequence, 4);
  bytes.writeDoubleLE(frame.updatedAtUs, 12);
  bytes.writeUInt32LE(frame.team?.length ?? 0, 20);
  bytes.writeUInt32LE(frame.customer?.length ?? 0, 24);
  let offset = FIXED_BYTES;
  offset += bytes.write(frame.stream, offset, 'latin1');
  offset += bytes.write(frame.resource, offset, 'latin1');
  if (frame.team !== undefined) offset += frame.team.copy(bytes, offset);
  if (frame.customer !== undefined) frame.customer.copy(bytes, offset);
  return bytes;
}

/** The frame's `team` and `customer` are views of `bytes`. Throws a RangeError on anything but a whole frame. */
export function decodeFrame(bytes: Buffer): Frame {
  const streamLength = bytes.readUInt8(2);
  const resourceLength = bytes.readUInt8(3);
  const teamLength = bytes.readUInt32LE(20);
  const customerLength = bytes.readUInt32LE(24);
  const kind = bytes.readUInt8(0);
  const size = FIXED_BYTES + streamLength + resourceLength + teamLength + customerLength;
  if (size !== bytes.length || !isFrameKind(kind)) throw new RangeError('not a frame');

  const resourceStart = FIXED_BYTES + streamLength;
  const teamStart = resourceStart + resourceLength;
  const customerStart = teamStart + teamLength;
  const frame: Frame = {
    kind,
    stream: bytes.toString('latin1', FIXED_BYTES, resourceStart),
    resource: bytes.toString('latin1', resourceStart, teamStart),
    sequence: bytes.readDoubleLE(4),
    updatedAtUs: bytes.readDoubleLE(12),
    team: teamLength === 0 ? undefined : bytes.subarray(teamStart, customerStart),
    customer: customerLength === 0 ? undefined : bytes.subarray(customerStart, size),
  };
  return bytes[1] === STREAMING ? { ...frame, streaming: true } : frame;
}

function requireCarriable(id: string): void {
  if (id.length > 255 || Buffer.byteLength(id) !== id.length)
    throw new RangeError('not an id that frames carry');
}

function isFrameKind(kind: number): kind is FrameKind {
  return kind >= FRAME_KINDS.created && kind <= FRAME_KINDS.told;
}
