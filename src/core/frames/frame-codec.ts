import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import { cutMarked, mayHaveUnknown } from '../../api/marked-json.ts';
import type { FrameCodec } from '../../platform/engine/engine.ts';
import type { CommittedFrame, Frame, InboxChange, PresenceReport } from './frame.ts';
import { packPosition, unpackPosition } from './text-position.ts';

/**
 * The layout of frames on Redis, little-endian: kind u8 · flags u8 · stream length u8 · resource
 * length u8 · sequence f64 · number f64 · team length u32 · customer length u32 · stream · resource
 * · team · customer. A length of 0 means that there is nothing for this audience.
 *
 * Nodes of the previous version read and write it during a rolling deploy, so it stays as it is:
 * test/engine/frame-codec.test.ts compares it with recorded bytes of every kind. One header serves
 * all kinds. `resource` is a resource, a message or a node; `number` is a time, a packed position
 * or 0, and alone tells a piece from other ephemeral events. Presence reports, changes of inboxes
 * and the figures of a node travel as JSON in `team`.
 */
interface Layout {
  readonly kind: number;
  readonly flags: number;
  readonly stream: string;
  readonly resource: string;
  readonly sequence: number;
  readonly number: number;
  readonly team: Buffer | undefined;
  readonly customer: Buffer | undefined;
}

/** The first byte of each kind of frame. */
export const WIRE_KINDS = {
  created: 1,
  void: 2,
  updated: 3,
  durable: 4,
  ephemeral: 5,
  piece: 5,
  rights_changed: 6,
  presence: 7,
  ask: 8,
  snapshot: 9,
  inbox_changed: 10,
  filled: 11,
  figures: 12,
} as const satisfies Record<Frame['kind'], number>;

/** Hands frames to an engine as bytes, and back. */
export const FRAME_CODEC: FrameCodec<Frame> = { encode: encodeFrame, decode: decodeFrame };

const FIXED_BYTES = 28;
const STREAMING = 1;
const ERASES = 2;

/** Throws a RangeError on ids longer than 255 characters, or not in ASCII. */
export function encodeFrame(frame: Frame): Buffer {
  return write(layoutOf(frame));
}

/**
 * Returns the frame. `team` and `customer` are views of `bytes`, without parts that only newer
 * versions know. Throws a RangeError on anything but a whole frame.
 */
export function decodeFrame(bytes: Buffer): Frame {
  const streamLength = bytes.readUInt8(2);
  const resourceLength = bytes.readUInt8(3);
  const teamLength = bytes.readUInt32LE(20);
  const customerLength = bytes.readUInt32LE(24);
  const size = FIXED_BYTES + streamLength + resourceLength + teamLength + customerLength;
  if (size !== bytes.length) throw new RangeError('not a frame');

  const resourceStart = FIXED_BYTES + streamLength;
  const teamStart = resourceStart + resourceLength;
  const customerStart = teamStart + teamLength;
  const stream = bytes.toString('latin1', FIXED_BYTES, resourceStart);
  const resource = bytes.toString('latin1', resourceStart, teamStart);
  const sequence = bytes.readDoubleLE(4);
  const number = bytes.readDoubleLE(12);
  let team = teamLength === 0 ? undefined : bytes.subarray(teamStart, customerStart);
  let customer = customerLength === 0 ? undefined : bytes.subarray(customerStart, size);
  // One search in the whole frame, because it is made for every frame that arrives.
  if (mayHaveUnknown(bytes)) {
    team = team && cutMarked(NEWEST_VERSION, team);
    customer = customer && cutMarked(NEWEST_VERSION, customer);
  }

  switch (bytes[0]) {
    case WIRE_KINDS.created:
    case WIRE_KINDS.updated:
    case WIRE_KINDS.durable: {
      const kind = COMMITTED_KINDS[bytes[0]];
      const flags = bytes.readUInt8(1);
      const streaming = (flags & STREAMING) !== 0;
      const erases = (flags & ERASES) !== 0;
      return { kind, stream, resource, sequence, updatedAtUs: number, streaming, erases, team, customer };
    }
    case WIRE_KINDS.ephemeral: {
      if (number === 0) return { kind: 'ephemeral', stream, resource, team, customer };
      const position = unpackPosition(number);
      return { kind: 'piece', stream, messageId: resource, sequence, position, team, customer };
    }
    case WIRE_KINDS.snapshot: {
      const position = unpackPosition(number);
      return { kind: 'snapshot', stream, messageId: resource, sequence, position, team, customer };
    }
    case WIRE_KINDS.void:
      return { kind: 'void', stream, sequence };
    case WIRE_KINDS.filled:
      return { kind: 'filled', stream, sequence };
    case WIRE_KINDS.ask:
      return { kind: 'ask', stream, messageId: resource };
    case WIRE_KINDS.presence:
      return { kind: 'presence', stream, nodeId: resource, report: readReport(team) };
    case WIRE_KINDS.rights_changed:
      return { kind: 'rights_changed', subject: stream };
    case WIRE_KINDS.inbox_changed:
      return { kind: 'inbox_changed', accountId: stream, change: readChange(team) };
    case WIRE_KINDS.figures:
      return { kind: 'figures', nodeId: resource, report: team?.toString() ?? '' };
    default:
      throw new RangeError('not a frame');
  }
}

const COMMITTED_KINDS = { 1: 'created', 3: 'updated', 4: 'durable' } as const satisfies {
  readonly [code: number]: CommittedFrame['kind'];
};

/** The values of header fields that a kind does not use. */
const UNUSED = {
  flags: 0,
  resource: '',
  sequence: 0,
  number: 0,
  team: undefined,
  customer: undefined,
} as const;

function layoutOf(frame: Frame): Layout {
  const kind = WIRE_KINDS[frame.kind];
  switch (frame.kind) {
    case 'created':
    case 'updated':
    case 'durable': {
      const { stream, resource, sequence, updatedAtUs: number, team, customer } = frame;
      const flags = (frame.streaming ? STREAMING : 0) | (frame.erases ? ERASES : 0);
      return { kind, flags, stream, resource, sequence, number, team, customer };
    }
    case 'ephemeral': {
      const { stream, resource, team, customer } = frame;
      return { kind, flags: 0, stream, resource, sequence: 0, number: 0, team, customer };
    }
    case 'piece':
    case 'snapshot': {
      const { stream, messageId: resource, sequence, team, customer } = frame;
      const number = packPosition(frame.position);
      return { kind, flags: 0, stream, resource, sequence, number, team, customer };
    }
    case 'void':
    case 'filled':
      return { ...UNUSED, kind, stream: frame.stream, sequence: frame.sequence };
    case 'ask':
      return { ...UNUSED, kind, stream: frame.stream, resource: frame.messageId };
    case 'presence': {
      const { stream, nodeId: resource, report } = frame;
      return { ...UNUSED, kind, stream, resource, team: report && Buffer.from(JSON.stringify(report)) };
    }
    case 'rights_changed':
      return { ...UNUSED, kind, stream: frame.subject };
    case 'inbox_changed': {
      const { accountId: stream, change } = frame;
      return { ...UNUSED, kind, stream, team: Buffer.from(JSON.stringify(change)) };
    }
    case 'figures':
      return { ...UNUSED, kind, stream: '', resource: frame.nodeId, team: Buffer.from(frame.report) };
  }
}

function write({ kind, flags, stream, resource, sequence, number, team, customer }: Layout): Buffer {
  requireCarriable(stream);
  requireCarriable(resource);
  const teamLength = team?.length ?? 0;
  const customerLength = customer?.length ?? 0;
  // The ids are latin1: as many bytes as characters.
  const bytes = Buffer.allocUnsafe(
    FIXED_BYTES + stream.length + resource.length + teamLength + customerLength,
  );
  bytes[0] = kind;
  bytes[1] = flags;
  bytes[2] = stream.length;
  bytes[3] = resource.length;
  bytes.writeDoubleLE(sequence, 4);
  bytes.writeDoubleLE(number, 12);
  bytes.writeUInt32LE(teamLength, 20);
  bytes.writeUInt32LE(customerLength, 24);
  let offset = FIXED_BYTES;
  offset += bytes.write(stream, offset, 'latin1');
  offset += bytes.write(resource, offset, 'latin1');
  if (team !== undefined) offset += team.copy(bytes, offset);
  if (customer !== undefined) customer.copy(bytes, offset);
  return bytes;
}

function requireCarriable(id: string): void {
  // Buffer.byteLength counts UTF-8: equal only for ASCII, which all ids are.
  if (id.length > 255 || Buffer.byteLength(id) !== id.length)
    throw new RangeError('not an id that frames carry');
}

function readReport(team: Buffer | undefined): PresenceReport | undefined {
  try {
    const report: Partial<PresenceReport> = JSON.parse(team?.toString() ?? '');
    return Array.isArray(report.present)
      ? { asks: report.asks === true, present: report.present }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Returns an empty change if the content is of another version. */
function readChange(team: Buffer | undefined): InboxChange {
  try {
    const change: Partial<InboxChange> = JSON.parse(team?.toString() ?? '') ?? {};
    const { actors, large, direct, conversations } = change;
    if (Array.isArray(actors) && Array.isArray(large)) return { actors, large, direct, conversations };
  } catch {
    // The next change brings the same counts.
  }
  return { actors: [], large: [], direct: undefined, conversations: undefined };
}
