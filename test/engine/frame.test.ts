import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { decodeFrame, encodeFrame, FRAME_KINDS, type Frame, frameBytes } from '../../src/engine/frame.ts';
import { packPlace, unpackPlace } from '../../src/engine/stream-place.ts';
import { Random } from '../support/random.ts';
import { makeFrame } from './contract.ts';

const KINDS = Object.values(FRAME_KINDS);

t.test('a frame comes back as it was', async (t) => {
  const random = numbers(1);
  for (let round = 0; round < 2000; round++) {
    const frame = anyFrame(random);
    const bytes = encodeFrame(frame);
    if (bytes.length !== frameBytes(frame)) t.fail(`round ${round}: ${bytes.length} bytes`);
    // From the middle of a larger buffer, as frames arrive.
    const larger = Buffer.concat([Buffer.alloc(12, 0xff), bytes, Buffer.alloc(5, 0xff)]);
    const decoded = decodeFrame(larger.subarray(12, 12 + bytes.length));
    if (!isDeepStrictEqual(decoded, frame)) t.same(decoded, frame, `round ${round}`);
  }
  t.pass('2,000 frames');
});

t.test('the audiences are views of the bytes, not copies', async (t) => {
  const bytes = encodeFrame(makeFrame(1, { team: Buffer.from('team'), customer: Buffer.from('customer') }));
  const { team, customer } = decodeFrame(bytes);
  t.equal(team?.buffer, bytes.buffer);
  t.equal(customer?.buffer, bytes.buffer);
});

t.test('every truncation throws a RangeError', async (t) => {
  const bytes = encodeFrame(makeFrame(1, { customer: Buffer.from('{}') }));
  for (let length = 0; length < bytes.length; length++) {
    if (!throwsRangeError(bytes.subarray(0, length))) t.fail(`accepted ${length} of ${bytes.length} bytes`);
  }
  t.ok(throwsRangeError(Buffer.concat([bytes, Buffer.from('x')])), 'and so does a byte too many');
});

t.test('a place in a text is one number, and no other frame has it', async (t) => {
  for (const place of [
    { attempt: 1, from: 0, to: 0 },
    { attempt: 1, from: 39_999, to: 40_000 },
    { attempt: 500_000, from: 0, to: 131_071 },
  ]) {
    const packed = packPlace(place);
    t.ok(Number.isSafeInteger(packed));
    t.strictSame(unpackPlace(packed), place);
  }
  t.equal(unpackPlace(0), undefined);
  for (const wrong of [
    { attempt: 0, from: 0, to: 0 },
    { attempt: 1, from: 2, to: 1 },
    { attempt: 1, from: 0, to: 131_072 },
  ]) {
    t.throws(() => packPlace(wrong), RangeError);
  }
});

t.test('garbage throws a RangeError', async (t) => {
  const random = numbers(2);
  for (let round = 0; round < 5000; round++) {
    const garbage = anyBytes(random, 120);
    if (!throwsRangeError(garbage)) t.fail(`round ${round}: accepted ${garbage.toString('hex')}`);
  }
  t.pass('5,000 pieces');
  const unknownKind = encodeFrame(makeFrame(1));
  for (const kind of [0, 10, 255]) {
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
  const audience = () => {
    const bytes = anyBytes(random, 600);
    return bytes.length === 0 || random() < 0.3 ? undefined : bytes;
  };
  return {
    kind: KINDS[Math.floor(random() * KINDS.length)]!,
    stream: anyId(random),
    resource: anyId(random),
    sequence: Math.floor(random() * Number.MAX_SAFE_INTEGER),
    updatedAtUs: Math.floor(random() * Number.MAX_SAFE_INTEGER),
    ...(random() < 0.3 && { streaming: true as const }),
    team: audience(),
    customer: audience(),
  };
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
