import { isDeepStrictEqual } from 'node:util';
import { VERSIONS } from '@parley/protocol/versions.ts';
import t from 'tap';
import type { CreatedFrame, Frame, PresenceReport } from '../../src/core/frames/frame.ts';
import { decodeFrame, encodeFrame, WIRE_KINDS } from '../../src/core/frames/frame-codec.ts';
import { packPosition, unpackPosition } from '../../src/core/frames/text-position.ts';
import { openEnvelope, Sealer } from '../../src/platform/engine/losses/envelope.ts';
import { Random } from '../support/random.ts';
import { makeFrame } from './contract.ts';

t.test('a frame comes back as it was', async (t) => {
  const random = numbers(1);
  for (let round = 0; round < 2000; round++) {
    const frame = anyFrame(random);
    const bytes = encodeFrame(frame);
    // From the middle of a larger buffer, as frames arrive.
    const larger = Buffer.concat([Buffer.alloc(12, 0xff), bytes, Buffer.alloc(5, 0xff)]);
    const decoded = decodeFrame(larger.subarray(12, 12 + bytes.length));
    if (!isDeepStrictEqual(decoded, frame)) t.same(decoded, frame, `round ${round}`);
  }
  t.pass('2,000 frames');
});

t.test('what came with versions that this node does not know is cut on arrival', async (t) => {
  const part = (age: number, text: string) => `\t${' '.repeat(age)}${text}\t`;
  const [known, unknown] = [VERSIONS.length - 1, VERSIONS.length];
  const oldest = `{"a":1${part(known, ',"b":2')}}`;
  const newer = `{"a":1${part(known, `,"b":2${part(unknown + 1, ',"c":3')}`)}${part(unknown, ',"d":{"e":5}')}}`;
  const inBoth = encodeFrame(makeFrame(1, { team: Buffer.from(newer), customer: Buffer.from(newer) }));
  t.strictSame(
    textsOf(inBoth).map((text) => text?.replace(/[\t ]/g, '')),
    ['{"a":1,"b":2}', '{"a":1,"b":2}'],
  );
  const inOne = { team: Buffer.from(part(unknown, newer)), customer: Buffer.from(oldest) };
  t.strictSame(textsOf(encodeFrame(makeFrame(1, inOne))), [undefined, oldest], 'a whole event');
});

function textsOf(bytes: Buffer): (string | undefined)[] {
  const { team, customer } = decodeFrame(bytes) as CreatedFrame;
  return [team?.toString(), customer?.toString()];
}

const NODE_ID = 'nodeAAAAAAAA';
const TEAM = { team: Buffer.from('{"t":1}'), customer: undefined };
const BOTH = { team: Buffer.from('{"t":1}'), customer: Buffer.from('{"c":1}') };
const MESSAGE = {
  stream: 'cnv_1',
  resource: 'msg_1',
  sequence: 42,
  updatedAtUs: 1_700_000_000_123_456,
  erases: false,
};
const TEXT = { stream: 'cnv_1', messageId: 'msg_1', sequence: 42 };
const REPORT: PresenceReport = {
  asks: true,
  present: [
    ['act_1', 'online', true],
    ['act_2', 'away', false],
  ],
};

/**
 * Recorded from the version in which one header stood for every kind of frame (68f2c8c). Nodes of
 * one deployment may be of two versions during a roll, so each must read what the other writes.
 */
const RECORDED: readonly { readonly what: string; readonly frame: Frame; readonly hex: string }[] = [
  {
    what: 'created',
    frame: { kind: 'created', ...MESSAGE, streaming: false, ...BOTH },
    hex: '6e6f64654141414141414141070000000100000001000505000000000000454000898060902818430700000007000000636e765f316d73675f317b2274223a317d7b2263223a317d',
  },
  {
    what: 'a message whose text is still being written',
    frame: { kind: 'created', ...MESSAGE, streaming: true, ...TEAM },
    hex: '6e6f64654141414141414141070000000200000001010505000000000000454000898060902818430700000000000000636e765f316d73675f317b2274223a317d',
  },
  {
    what: 'void',
    frame: { kind: 'void', stream: 'cnv_1', sequence: 43 },
    hex: '6e6f64654141414141414141070000000300000002000500000000000080454000000000000000000000000000000000636e765f31',
  },
  {
    what: 'updated',
    frame: { kind: 'updated', ...MESSAGE, streaming: false, ...BOTH },
    hex: '6e6f64654141414141414141070000000400000003000505000000000000454000898060902818430700000007000000636e765f316d73675f317b2274223a317d7b2263223a317d',
  },
  {
    what: 'a change of one',
    frame: { kind: 'updated', ...MESSAGE, streaming: true, ...BOTH },
    hex: '6e6f64654141414141414141070000000500000003010505000000000000454000898060902818430700000007000000636e765f316d73675f317b2274223a317d7b2263223a317d',
  },
  {
    what: 'durable',
    frame: {
      kind: 'durable',
      ...MESSAGE,
      stream: 'act_1',
      resource: 'ntf_1',
      sequence: 0,
      streaming: false,
      ...TEAM,
    },
    hex: '6e6f646541414141414141410700000006000000040005050000000000000000008980609028184307000000000000006163745f316e74665f317b2274223a317d',
  },
  {
    what: 'a draft whose text is still being written',
    frame: { kind: 'durable', ...MESSAGE, sequence: 0, streaming: true, ...TEAM },
    hex: '6e6f64654141414141414141070000000700000004010505000000000000000000898060902818430700000000000000636e765f316d73675f317b2274223a317d',
  },
  {
    what: 'ephemeral',
    frame: { kind: 'ephemeral', stream: 'cnv_1', resource: 'act_1', ...TEAM },
    hex: '6e6f64654141414141414141070000000800000005000505000000000000000000000000000000000700000000000000636e765f316163745f317b2274223a317d',
  },
  {
    what: 'piece',
    frame: { kind: 'piece', ...TEXT, position: { attempt: 2, from: 39_990, to: 40_000 }, ...TEAM },
    hex: '6e6f64654141414141414141070000000900000005000505000000000000454000008038d97022420700000000000000636e765f316d73675f317b2274223a317d',
  },
  {
    what: 'the first piece of a text',
    frame: { kind: 'piece', ...TEXT, position: { attempt: 1, from: 0, to: 0 }, ...TEAM },
    hex: '6e6f64654141414141414141070000000a00000005000505000000000000454000000000000010420700000000000000636e765f316d73675f317b2274223a317d',
  },
  {
    what: 'a changed right',
    frame: { kind: 'rights_changed', subject: 'act_1' },
    hex: '6e6f64654141414141414141070000000b000000060005000000000000000000000000000000000000000000000000006163745f31',
  },
  {
    what: 'presence',
    frame: { kind: 'presence', stream: 'cnv_1', nodeId: NODE_ID, report: REPORT },
    hex: '6e6f64654141414141414141070000000c0000000700050c000000000000000000000000000000004800000000000000636e765f316e6f646541414141414141417b2261736b73223a747275652c2270726573656e74223a5b5b226163745f31222c226f6e6c696e65222c747275655d2c5b226163745f32222c2261776179222c66616c73655d5d7d',
  },
  {
    what: 'ask',
    frame: { kind: 'ask', stream: 'cnv_1', messageId: 'msg_1' },
    hex: '6e6f64654141414141414141070000000d00000008000505000000000000000000000000000000000000000000000000636e765f316d73675f31',
  },
  {
    what: 'snapshot',
    frame: { kind: 'snapshot', ...TEXT, position: { attempt: 2, from: 0, to: 40_000 }, ...TEAM },
    hex: '6e6f64654141414141414141070000000e00000009000505000000000000454000008038010020420700000000000000636e765f316d73675f317b2274223a317d',
  },
  {
    what: 'inbox_changed',
    frame: {
      kind: 'inbox_changed',
      accountId: 'acc_1',
      change: { actors: ['act_1'], large: ['cnv_1'], direct: undefined, conversations: undefined },
    },
    hex: '6e6f64654141414141414141070000000f0000000a0005000000000000000000000000000000000026000000000000006163635f317b226163746f7273223a5b226163745f31225d2c226c61726765223a5b22636e765f31225d7d',
  },
  {
    what: 'inbox_changed with its conversations',
    frame: {
      kind: 'inbox_changed',
      accountId: 'acc_1',
      change: {
        actors: ['act_1', 'act_2'],
        large: ['cnv_2'],
        direct: undefined,
        conversations: [
          { id: 'cnv_1', actors: [0, 1] },
          { id: 'cnv_2', actors: [] },
        ],
      },
    },
    hex: '6e6f6465414141414141414107000000100000000a0005000000000000000000000000000000000079000000000000006163635f317b226163746f7273223a5b226163745f31222c226163745f32225d2c226c61726765223a5b22636e765f32225d2c22636f6e766572736174696f6e73223a5b7b226964223a22636e765f31222c226163746f7273223a5b302c315d7d2c7b226964223a22636e765f32222c226163746f7273223a5b5d7d5d7d',
  },
  {
    what: 'filled',
    frame: { kind: 'filled', stream: 'cnv_1', sequence: 43 },
    hex: '6e6f6465414141414141414107000000110000000b000500000000000080454000000000000000000000000000000000636e765f31',
  },
  {
    what: 'figures',
    frame: { kind: 'figures', nodeId: NODE_ID, report: '{"sockets":1}' },
    hex: '6e6f6465414141414141414107000000120000000c00000c000000000000000000000000000000000d000000000000006e6f646541414141414141417b22736f636b657473223a317d',
  },
  {
    what: 'inbox_changed with its direct messages',
    frame: {
      kind: 'inbox_changed',
      accountId: 'acc_1',
      change: {
        actors: ['act_1'],
        large: [],
        direct: ['cnv_1'],
        conversations: [{ id: 'cnv_1', actors: [0] }],
      },
    },
    hex: '6e6f6465414141414141414107000000130000000a0005000000000000000000000000000000000060000000000000006163635f317b226163746f7273223a5b226163745f31225d2c226c61726765223a5b5d2c22646972656374223a5b22636e765f31225d2c22636f6e766572736174696f6e73223a5b7b226964223a22636e765f31222c226163746f7273223a5b305d7d5d7d',
  },
];

t.test('the bytes on Redis are those of the versions before', async (t) => {
  const sealer = new Sealer(NODE_ID, 7);
  for (const [index, { what, frame, hex }] of RECORDED.entries()) {
    const envelope = openEnvelope(Buffer.from(hex, 'hex'));
    t.match(envelope, { publisherId: NODE_ID, incarnation: 7, number: index + 1 }, what);
    t.strictSame(decodeFrame(envelope.content), frame, `${what}: read`);
    t.equal(sealer.seal(index + 1, encodeFrame(frame)).toString('hex'), hex, `${what}: written`);
  }
  const kinds = new Set(RECORDED.map(({ frame }) => frame.kind));
  t.strictSame([...kinds].sort(), Object.keys(WIRE_KINDS).sort(), 'every kind is recorded');
});

t.test('a report of another version is left unread, and its frame is whole', async (t) => {
  const bytes = encodeFrame({ ...makeFrame(0), stream: 'cnv_1', resource: 'two', team: Buffer.from('TEXT') });
  bytes[0] = WIRE_KINDS.presence;
  for (const text of ['    ', '{   ', 'null', '[]  ', '{"a"', '"a" ', '1   ']) {
    bytes.write(text, bytes.length - 4);
    t.strictSame(decodeFrame(bytes), { kind: 'presence', stream: 'cnv_1', nodeId: 'two', report: undefined });
  }
});

t.test('the audiences are views of the bytes, not copies', async (t) => {
  const bytes = encodeFrame(makeFrame(1, { team: Buffer.from('team'), customer: Buffer.from('customer') }));
  const frame = decodeFrame(bytes);
  t.match(frame, { kind: 'created', team: Buffer, customer: Buffer });
  if (frame.kind !== 'created') return;
  t.equal(frame.team?.buffer, bytes.buffer);
  t.equal(frame.customer?.buffer, bytes.buffer);
});

t.test('every truncation throws a RangeError', async (t) => {
  const bytes = encodeFrame(makeFrame(1, { customer: Buffer.from('{}') }));
  for (let length = 0; length < bytes.length; length++) {
    if (!throwsRangeError(bytes.subarray(0, length))) t.fail(`accepted ${length} of ${bytes.length} bytes`);
  }
  t.ok(throwsRangeError(Buffer.concat([bytes, Buffer.from('x')])), 'and so does a byte too many');
});

t.test('a position in a text is one number, and no other frame has it', async (t) => {
  for (const position of [
    { attempt: 1, from: 0, to: 0 },
    { attempt: 1, from: 39_999, to: 40_000 },
    { attempt: 500_000, from: 0, to: 131_071 },
  ]) {
    const packed = packPosition(position);
    t.ok(Number.isSafeInteger(packed));
    t.strictSame(unpackPosition(packed), position);
  }
  for (const packed of [0, -1, 131_072, Number.NaN]) t.throws(() => unpackPosition(packed), RangeError);
  for (const wrong of [
    { attempt: 0, from: 0, to: 0 },
    { attempt: 1, from: 2, to: 1 },
    { attempt: 1, from: 0, to: 131_072 },
  ]) {
    t.throws(() => packPosition(wrong), RangeError);
  }
});

t.test('random bytes throw a RangeError', async (t) => {
  const random = numbers(2);
  for (let round = 0; round < 5000; round++) {
    const garbage = anyBytes(random, 120);
    if (!throwsRangeError(garbage)) t.fail(`round ${round}: accepted ${garbage.toString('hex')}`);
  }
  t.pass('5,000 pieces');
  const unknownKind = encodeFrame(makeFrame(1));
  for (const kind of [0, 13, 255]) {
    unknownKind[0] = kind;
    t.ok(throwsRangeError(unknownKind), `kind ${kind}`);
  }
});

/** In [0, 1). */
function numbers(seed: number): () => number {
  const random = new Random(seed);
  return () => random.next();
}

function anyFrame(random: () => number): Frame {
  const below = (limit: number) => Math.floor(random() * limit);
  const audience = () => {
    const bytes = anyBytes(random, 600);
    return bytes.length === 0 || random() < 0.3 ? undefined : bytes;
  };
  const stream = anyId(random);
  const id = anyId(random);
  const sequence = below(Number.MAX_SAFE_INTEGER);
  const bytes = { team: audience(), customer: audience() };
  switch (below(8)) {
    case 0:
      return { kind: 'void', stream, sequence };
    case 1:
      return { kind: 'ephemeral', stream, resource: id, ...bytes };
    case 2:
      return { kind: 'rights_changed', subject: stream };
    case 3:
      return { kind: 'ask', stream, messageId: id };
    case 4: {
      const report = { asks: random() < 0.5, present: [[anyId(random), 'online', random() < 0.5] as const] };
      return { kind: 'presence', stream, nodeId: id, report };
    }
    case 6:
      return { kind: 'figures', nodeId: id, report: anyId(random) };
    case 5: {
      const from = below(131_072);
      const position = { attempt: 1 + below(524_287), from, to: from + below(131_072 - from) };
      const kind = random() < 0.5 ? 'piece' : 'snapshot';
      return { kind, stream, messageId: id, sequence, position, ...bytes };
    }
    default: {
      const kind = (['created', 'updated', 'durable'] as const)[below(3)]!;
      const updatedAtUs = below(Number.MAX_SAFE_INTEGER);
      const flags = { streaming: random() < 0.3, erases: random() < 0.3 };
      return { kind, stream, resource: id, sequence, updatedAtUs, ...flags, ...bytes };
    }
  }
}

function anyId(random: () => number): string {
  const length = random() < 0.1 ? [0, 255][Math.floor(random() * 2)]! : Math.floor(random() * 40);
  return Array.from({ length }, () => String.fromCharCode(33 + Math.floor(random() * 94))).join('');
}

function anyBytes(random: () => number, below: number): Buffer {
  return Buffer.from(Array.from({ length: Math.floor(random() * below) }, () => Math.floor(random() * 256)));
}

function throwsRangeError(bytes: Buffer): boolean {
  try {
    decodeFrame(bytes);
    return false;
  } catch (error) {
    return error instanceof RangeError;
  }
}
