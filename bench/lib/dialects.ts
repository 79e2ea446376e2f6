import { textFrame } from './websocket-frames.ts';

/**
 * The way to open a socket to one kind of server, and to recognize deliveries among its frames by
 * their first bytes alone.
 */
export interface Dialect {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * For one socket: takes each text frame until the socket is live, answers with the next frame to
   * send, or 'live'; `last` is sent, and live with it. Null: live as soon as it is upgraded.
   */
  readonly open: () => ((text: string) => Buffer | { readonly last: Buffer } | 'live' | undefined) | null;
  /** `length` bytes of payload begin at `start`; perhaps only the first PEEK_BYTES have arrived. */
  readonly classify: (bytes: Uint8Array, start: number, length: number) => FrameClass;
  /** The answer to a frame that `classify` calls a ping. */
  readonly pong: Buffer;
}

/** Small integers, because they are compared hundreds of thousands of times a second. */
export const FRAME_CLASSES = { other: 0, delivery: 1, ping: 2, caughtUp: 3 } as const;
type FrameClass = (typeof FRAME_CLASSES)[keyof typeof FRAME_CLASSES];

/** The number of bytes of a payload that `classify` may read. */
export const PEEK_BYTES = 40;

/** The caller that the sockets belong to. */
export interface ParleyCaller {
  /** Value of the header: `Bearer …` */
  readonly authorization: string;
  readonly version: string;
  readonly accountId: string;
}

export interface ParleyDialectOptions extends ParleyCaller {
  /** Returns the conversations of a socket; called once a socket. Empty: only its own feed. */
  readonly conversations: () => readonly string[];
}

/**
 * Returns Parley's dialect: `hello`, `ready`, a `subscribe` for each conversation, live with the
 * last `caught_up`; then events.
 */
export function parleyDialect(options: ParleyDialectOptions): Dialect {
  return {
    ...toParley(options),
    open: () => {
      const waiting = [...options.conversations()];
      let caughtUp = true;
      return (text) => {
        const { type, error }: { type: string; error?: unknown } = JSON.parse(text);
        if (error !== undefined) throw new Error(`a subscription was refused: ${text}`);
        // The ping has a random phase, so it may come this early.
        if (type === 'ping') return PARLEY_PONG;
        if (type === 'caught_up') caughtUp = true;
        else if (type !== 'ready') return undefined;
        const next = caughtUp ? waiting.shift() : undefined;
        if (next === undefined) return 'live';
        caughtUp = false;
        return textFrame(JSON.stringify({ type: 'subscribe', id: next, conversation_id: next }));
      };
    },
  };
}

/**
 * Returns Parley's dialect after a reconnect: live with the `resume` that answers `ready`, so that
 * missed messages are counted.
 */
export function resumingDialect(caller: ParleyCaller, resume: Buffer): Dialect {
  return {
    ...toParley(caller),
    open: () => (text) => (text.startsWith('{"type":"ready"') ? { last: resume } : undefined),
  };
}

const PARLEY_PONG = textFrame('{"type":"pong","t":0}');

function toParley({ authorization, version, accountId }: ParleyCaller): Omit<Dialect, 'open'> {
  return {
    path: '/v1/realtime',
    headers: { Authorization: authorization, 'Service-Version': version, 'Service-Account': accountId },
    classify: classifyTyped,
    pong: PARLEY_PONG,
  };
}

/** A server that publishes to every connection, without a handshake. */
export const BARE_DIALECT: Dialect = {
  path: '/',
  headers: {},
  open: () => null,
  classify: classifyTyped,
  pong: textFrame(''),
};

/** A server that sends Parley's heartbeats, which are answered as Parley's are. */
export const PONGING_DIALECT: Dialect = { ...BARE_DIALECT, pong: PARLEY_PONG };

/** Socket.IO 4 over its WebSocket transport alone: engine.io's open packet, then the namespace. */
export const SOCKET_IO_DIALECT: Dialect = {
  path: '/socket.io/?EIO=4&transport=websocket',
  headers: {},
  open: () => (text) => {
    if (text.startsWith('0{')) return textFrame('40');
    return text.startsWith('40') ? 'live' : undefined;
  },
  classify: (bytes, start, length) => {
    if (bytes[start] !== MESSAGE) return bytes[start] === PING ? FRAME_CLASSES.ping : FRAME_CLASSES.other;
    return length > 1 && bytes[start + 1] === EVENT ? FRAME_CLASSES.delivery : FRAME_CLASSES.other;
  },
  pong: textFrame('3'),
};

/**
 * Returns Socket.IO's dialect with a token in the namespace's handshake, and an event `subscribe`
 * with the rooms to join; live with its acknowledgement, which has the number of rooms.
 */
export function socketIoRoomsDialect(token: string, rooms: readonly string[]): Dialect {
  return {
    ...SOCKET_IO_DIALECT,
    open: () => (text) => {
      if (text.startsWith('0{')) return textFrame(`40${JSON.stringify({ token })}`);
      if (text.startsWith('40')) return textFrame(`420${JSON.stringify(['subscribe', rooms])}`);
      if (text === '2') return SOCKET_IO_DIALECT.pong;
      if (text === `430[${rooms.length}]`) return 'live';
      throw new Error(`a subscription was refused: ${text}`);
    },
  };
}

/** Returns the dialect of a server whose sockets name their topics in the query. */
export function topicsDialect(topics: readonly string[]): Dialect {
  return { ...BARE_DIALECT, path: `/?${topics.join(',')}` };
}

const TYPE_AT = '{"type":"'.length;
const NAME_AT = '{"type":"event","event":"'.length;
const E = 'event'.charCodeAt(0);
const P = 'ping'.charCodeAt(0);
const C = 'caught_up'.charCodeAt(0);
const SPACE = ' '.charCodeAt(0);
const I = 'inbox.changed'.charCodeAt(0);
const MESSAGE = '4'.charCodeAt(0);
const EVENT = '2'.charCodeAt(0);
const PING = '2'.charCodeAt(0);

/**
 * Classifies a frame: `{"type":"event"…`, `{"type":"ping"…` and `{"type":"caught_up"…` differ in
 * one byte. An `inbox.changed` is no delivery but a hint, which stands for any number of messages.
 * Frames that older versions do not get begin with white space (src/api/marked-json.ts).
 */
function classifyTyped(bytes: Uint8Array, start: number, length: number): FrameClass {
  if (length <= TYPE_AT) return FRAME_CLASSES.other;
  let at = start;
  while (bytes[at]! <= SPACE) at++;
  const letter = bytes[at + TYPE_AT];
  if (letter === E) return bytes[at + NAME_AT] === I ? FRAME_CLASSES.other : FRAME_CLASSES.delivery;
  if (letter === P) return FRAME_CLASSES.ping;
  return letter === C ? FRAME_CLASSES.caughtUp : FRAME_CLASSES.other;
}
