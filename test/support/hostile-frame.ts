import type { RawSocket } from '../gateway/raw-socket.ts';
import type { Random } from './random.ts';

/** A frame, or other bytes, that no correct client sends. */
export interface Attack {
  readonly feature: string;
  /** Whether it gets a reply; a fatal one closes its socket. */
  readonly answered: boolean;
  write(socket: RawSocket): void;
}

/** Returns a frame that its socket survives. */
export function survivableFrame(random: Random): Attack {
  return makeFrom(SURVIVABLE, random);
}

/** Returns a frame that ends its socket, by RFC 6455 or by docs/realtime.md#limits. */
export function fatalFrame(random: Random): Attack {
  return makeFrom(FATAL, random);
}

type Maker = (random: Random) => string | (Pick<Attack, 'write'> & Partial<Attack>);

/** Every text among these is one request to a server, so that it gets one reply. */
const SURVIVABLE = {
  'broken JSON': (random) => {
    const text = validRequest(random);
    return text.slice(0, random.below(text.length));
  },
  'a changed character': (random) => {
    const text = validRequest(random);
    const at = random.below(text.length);
    return `${text.slice(0, at)}${random.pick([...'{}[]",:\\\u0001é😀'])}${text.slice(at + 1)}`;
  },
  'no object': (random) => JSON.stringify(random.pick([null, true, 7, 'text', [], [[]], [{}]])),
  'wrong types': (random) =>
    JSON.stringify({
      type: random.pick([...OPS, 'resume', junk(random)]),
      id: random.pick(['x', 'x', 'x', junk(random)]),
      conversation_id: junk(random),
      after_sequence: junk(random),
      token: random.pick([7, null, {}, []]),
      cursor: random.pick([7, {}, []]),
      [random.pick(['state', 'status', 'sequence', 'conversations', '__proto__', 'extra'])]: junk(random),
    }),
  'numbers out of range': (random) =>
    `{"type":"subscribe","id":"n","conversation_id":"cnv_x","after_sequence":${random.pick([
      '-1',
      '1e400',
      '-0.5',
      '9007199254740993',
      `${'9'.repeat(1 + random.below(20_000))}`,
      '1E-400',
    ])}}`,
  'deep nesting': (random) => {
    const depth = 1 + random.below(30_000);
    const [opening, closing] = random.pick([
      ['[', ']'],
      ['{"a":', '}'],
    ] as const);
    const fits = Math.min(depth, Math.floor(60_000 / (opening.length + closing.length)));
    return `{"type":"ping","id":"d","x":${opening.repeat(fits)}${opening === '[' ? '' : '1'}${closing.repeat(fits)}}`;
  },
  'unclosed nesting': (random) => '{"type":'.repeat(1 + random.below(7_000)),
  'a huge string': (random) => {
    const length = 1_000 + random.below(60_000);
    const text = random.pick(['x', '\\u0000', '\\ud800', 'é', '\\"']);
    const huge = text.repeat(Math.floor(length / text.length / 2));
    return random.pick([
      `{"type":"subscribe","id":"h","conversation_id":"${huge}"}`,
      `{"type":"refresh","id":"h","token":"${huge}"}`,
      `{"type":"${huge}","id":"h"}`,
      `{"type":"ping","id":"${huge}"}`,
      `{"type":"ping","id":"h","${huge}":1}`,
    ]);
  },
  'many fields': (random) => {
    const fields = Array.from({ length: 1 + random.below(4_000) }, (_, n) => `"f${n}":${n}`);
    return `{"type":"ping","id":"m",${fields.join()}}`;
  },
  'names of Object': (random) => {
    const name = random.pick(['__proto__', 'constructor', 'hasOwnProperty', 'toString', 'prototype']);
    return random.pick([
      `{"type":"${name}","id":"o"}`,
      `{"type":"ping","id":"o","${name}":{"admin":true}}`,
      `{"${name}":{"type":"ping"},"id":"o"}`,
    ]);
  },
  'the same field twice': () => '{"type":"ping","type":"subscribe","id":"a","id":"b"}',
  nothing: () => '',
  'what is not there': (random) =>
    JSON.stringify({
      type: random.pick(['subscribe', 'unsubscribe']),
      id: 'x',
      conversation_id: `cnv_${random.below(1_000)}`,
    }),
  'a second authenticate': () => '{"type":"authenticate","id":"a","token":"parley_stolen"}',
  'a token that is none': (random) =>
    JSON.stringify({ type: 'refresh', id: 'r', token: 'a.b.'.repeat(1 + random.below(500)) }),
  'a pong out of place': () => ({
    answered: false,
    write: (socket) => socket.frame(TEXT, '{"type":"pong","t":1}'),
  }),
  'control frames': (random) => ({
    answered: false,
    write: (socket) => socket.frame(random.pick([PING, PONG]), bytes(random, random.below(126))),
  }),
  // Characters that fragments cut in two are whole again in the complete text.
  fragments: (random) => {
    const text = Buffer.from(`{"type":"ping","id":"${'é😀'.repeat(random.below(8))}","x":1}`);
    return {
      write: (socket) => {
        const cuts = Array.from({ length: random.below(20) }, () => random.below(text.length + 1));
        const ends = [...cuts.sort((a, b) => a - b), text.length];
        for (const [index, end] of ends.entries()) {
          const part = text.subarray(ends[index - 1] ?? 0, end);
          socket.frame(index === 0 ? TEXT : CONTINUATION, part, index === ends.length - 1);
          if (random.below(4) === 0) socket.frame(random.pick([PING, PONG]), 'between');
        }
      },
    };
  },
} as const satisfies Readonly<Record<string, Maker>>;

const FATAL = {
  binary: (random) => frame(BINARY, bytes(random, random.below(1_000))),
  'no UTF-8': (random) =>
    frame(TEXT, Buffer.concat([Buffer.from('{"type":"'), random.pick(NO_UTF8), Buffer.from('"}')])),
  'no UTF-8 in fragments': (random) => ({
    write: (socket) => {
      socket.frame(TEXT, '{"type":"', false);
      socket.frame(CONTINUATION, random.pick(NO_UTF8));
    },
  }),
  'too long': (random) => frame(TEXT, Buffer.alloc(65_537 + random.below(100_000), 97)),
  'too long in fragments': () => ({
    write: (socket) => {
      for (let n = 0; n < 9; n++) socket.frame(n === 0 ? TEXT : CONTINUATION, 'x'.repeat(8_000), n === 8);
    },
  }),
  'too long to be true': () => ({
    write: (socket) => socket.socket.write(Buffer.from([0x81, 0xff, ...Array(8).fill(0xff), 1, 2, 3, 4])),
  }),
  'a stray continuation': () => frame(CONTINUATION, 'x'),
  'a text within a text': () => ({
    write: (socket) => {
      socket.frame(TEXT, '{"type":', false);
      socket.frame(TEXT, '"ping","id":"w"}');
    },
  }),
  'an unknown opcode': (random) => frame(random.pick([3, 4, 5, 6, 7, 11, 12, 13, 14, 15]), 'x'),
  'reserved bits': (random) => frame(TEXT | random.pick([0x10, 0x20, 0x40, 0x70]), '{}'),
  'a long control frame': (random) => frame(random.pick([PING, PONG, CLOSE]), Buffer.alloc(126, 97)),
  'a control frame in fragments': (random) => ({
    write: (socket) => socket.frame(random.pick([PING, PONG]), 'x', false),
  }),
  'a close that says nothing known': (random) =>
    frame(CLOSE, random.pick([Buffer.from([3]), Buffer.from([0, 1]), Buffer.from([0xff, 0xff, 0xff])])),
  'more behind a close': () => ({
    write: (socket) => {
      socket.frame(CLOSE, Buffer.from([0x03, 0xe8]));
      for (let n = 0; n < 10; n++) socket.frame(TEXT, '{"type":"ping","id":"late"}');
    },
  }),
  'a reset in the middle of a frame': () => ({
    write: (socket) => {
      socket.socket.write(Buffer.from([0x81, 0xfe, 0x10, 0x00, 1, 2, 3, 4, 5]));
      socket.socket.resetAndDestroy();
    },
  }),
} as const satisfies Readonly<Record<string, Maker>>;

const CONTINUATION = 0;
const TEXT = 1;
const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;

const OPS = [
  'authenticate',
  'refresh',
  'subscribe',
  'unsubscribe',
  'typing',
  'mark_read',
  'presence',
  'ping',
];

/** A stray continuation byte, an overlong form, a surrogate, past the last code point, cut off. */
const NO_UTF8 = [[0x80], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82]].map(
  (codes) => Buffer.from(codes),
);

function makeFrom(makers: Readonly<Record<string, Maker>>, random: Random): Attack {
  const [feature, make] = random.pick(Object.entries(makers));
  const made = make(random);
  if (typeof made !== 'string') return { feature, answered: true, ...made };
  return { feature, answered: true, write: (socket) => socket.frame(TEXT, made) };
}

function frame(opcode: number, payload: string | Buffer): Pick<Attack, 'write'> {
  return { write: (socket) => socket.frame(opcode, payload) };
}

function validRequest(random: Random): string {
  return JSON.stringify({
    type: random.pick(OPS.slice(0, 4)),
    id: 'valid',
    conversation_id: 'cnv_nowhere',
    after_sequence: 1,
  });
}

function junk(random: Random): unknown {
  return random.pick([null, true, -1, 1.5, '', 'x', '\u0000', [], {}, [1], { a: [] }, 'x'.repeat(5_000)]);
}

function bytes(random: Random, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random.below(256)));
}
