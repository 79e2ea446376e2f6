/**
 * Pictures without metadata; an independent reader says what is left (docs/contract.md#pictures).
 */

import ExifReader from 'exifreader';
import t from 'tap';
import { findEdits } from '../../src/core/attachments/pictures/find-edits.ts';
import type { FileBytes } from '../../src/core/attachments/storage.ts';
import {
  exif,
  type PictureKind,
  PLAIN,
  pngChunk,
  SECRETS,
  segment,
  spliced,
  telling,
  webp,
  webpChunk,
  webpParts,
  XMP,
} from '../support/pictures.ts';

const KINDS = Object.keys(PLAIN) as PictureKind[];

/** Returns bytes as a store has them, which are overwritten once the next are asked for. */
function fileOf(bytes: Buffer, pieceBytes = 65_536): FileBytes {
  return {
    size: bytes.length,
    async *read() {
      const memory = Buffer.alloc(pieceBytes);
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        const copied = bytes.copy(memory, 0, at, at + pieceBytes);
        yield memory.subarray(0, copied);
        memory.fill(0xff);
      }
    },
  };
}

/** Returns the picture without metadata, or null if it cannot be read. */
async function cleaned(bytes: Buffer, pieceBytes?: number): Promise<Buffer | null> {
  const edits = await findEdits(fileOf(bytes, pieceBytes));
  if (edits === null) return null;
  const pieces: Buffer[] = [];
  for await (const piece of edits.applyTo(fileOf(bytes, pieceBytes))) pieces.push(Buffer.from(piece));
  const clean = Buffer.concat(pieces);
  if (clean.length !== bytes.length - edits.lostBetween(0, bytes.length)) throw new Error('a wrong size');
  return clean;
}

function readersView(bytes: Buffer) {
  const tags = ExifReader.load(bytes, { expanded: true, includeUnknown: true });
  const { exif: { Orientation, ...exif } = {}, gps, xmp, iptc, icc, png = {}, pngText } = tags;
  const told = { exif, gps, xmp, iptc, pngText, time: png['Modify Date'] };
  const left = Object.entries(told).filter(([, of]) => of !== undefined && Object.keys(of).length > 0);
  return { orientation: Orientation?.value, hasColours: icc !== undefined, left: left.map(([name]) => name) };
}

for (const kind of KINDS) {
  t.test(`${kind}: what it tells goes, and what it shows stays`, async (t) => {
    const bytes = telling(kind);
    for (const secret of SECRETS.slice(0, 2)) t.ok(bytes.includes(secret), `it tells ${secret}`);
    if (kind !== 'gif') t.ok(readersView(bytes).left.length >= 2, 'the reader finds it');
    const clean = (await cleaned(bytes))!;
    for (const secret of SECRETS) t.notOk(clean.includes(secret), secret);
    t.ok(clean.length < bytes.length);
    if (kind !== 'gif') {
      const { left, orientation, hasColours } = readersView(clean);
      t.strictSame(left, []);
      t.equal(orientation, 6, 'it keeps its turn');
      t.equal(hasColours, readersView(PLAIN[kind]).hasColours);
    } else t.ok(clean.includes('NETSCAPE2.0'), 'it is repeated as often as before');
    const again = await findEdits(fileOf(clean));
    t.equal(again?.isEmpty, true, 'there is nothing to do a second time');
  });

  t.test(`${kind}: pieces of any length give the same`, async (t) => {
    const expected = (await cleaned(telling(kind)))!;
    for (const length of [1, 2, 3, 7, 64, 1_000]) {
      t.same(await cleaned(telling(kind), length), expected, `${length} bytes`);
    }
  });

  t.test(`${kind}: a picture that tells nothing stays as it is`, async (t) => {
    t.equal((await findEdits(fileOf(PLAIN[kind])))?.isEmpty, true);
  });

  t.test(`${kind}: cut anywhere it never fails otherwise than by staying as it is`, async (t) => {
    const whole = telling(kind);
    const clean = (await cleaned(whole))!;
    for (let length = 0; length < whole.length; length += 1) {
      const cut = await cleaned(whole.subarray(0, length));
      if (cut === null) continue;
      if (cut.length > clean.length || SECRETS.some((secret) => cut.includes(secret))) {
        t.fail(`${length} bytes leave something`);
      }
    }
  });
}

t.test('each turn is kept in either order of bytes, and none is invented', async (t) => {
  for (const kind of KINDS.filter((kind) => kind !== 'gif')) {
    for (let orientation = 0; orientation <= 9; orientation += 1) {
      for (const isBigEndian of [true, false]) {
        const clean = (await cleaned(telling(kind, { orientation, isBigEndian })))!;
        const expected = orientation >= 2 && orientation <= 8 ? orientation : undefined;
        t.equal(readersView(clean).orientation, expected, `${kind} ${orientation}`);
      }
    }
  }
  const broken = exif({ orientation: 6 });
  broken.writeUInt32BE(0xfffffff0, 4);
  const bytes = spliced(PLAIN.png, 33, 33, pngChunk('eXIf', broken));
  t.same(await cleaned(bytes), PLAIN.png, 'a directory outside of Exif');
});

t.test('parts of animations tell nothing, and stay whole', async (t) => {
  const pixels = webpParts(PLAIN.webp).get('VP8 ')!;
  const frameHead = Buffer.from([0, 0, 0, 0, 0, 0, 15, 0, 0, 7, 0, 0, 100, 0, 0, 0]);
  const frame = (...extra: Buffer[]) =>
    webpChunk('ANMF', Buffer.concat([frameHead, webpChunk('VP8 ', pixels), ...extra]));
  const head = (flags: number) => webpChunk('VP8X', Buffer.from([flags, 0, 0, 0, 15, 0, 0, 7, 0, 0]));
  const animation = webpChunk('ANIM', Buffer.alloc(6));
  const plain = webp(head(0x02), animation, frame(), frame());
  t.equal((await findEdits(fileOf(plain)))?.isEmpty, true);
  const xmp = webpChunk('XMP ', XMP);
  const telling = webp(head(0x06), animation, frame(webpChunk('MAKE', 'Mona!')), xmp, frame(xmp, xmp));
  t.same(await cleaned(telling), plain);

  const control = pngChunk('acTL', Buffer.from([0, 0, 0, 1, 0, 0, 0, 0]));
  const still = spliced(PLAIN.png, 33, 33, control, pngChunk('fcTL', Buffer.alloc(26)));
  const moving = spliced(still, still.length - 12, still.length - 12, pngChunk('fdAT', 'pixels'));
  t.equal((await findEdits(fileOf(moving)))?.isEmpty, true);
  const text = pngChunk('zTXt', 'Make\0\0Mona');
  t.same(await cleaned(spliced(moving, moving.length - 12, moving.length - 12, text)), moving);
});

t.test('a JPEG in several scans, with marks within its pixels, and with parts between', async (t) => {
  const { jpeg } = PLAIN;
  const scan = jpeg.indexOf(Buffer.from([0xff, 0xda]));
  const between = segment(0xe1, `http://ns.adobe.com/xap/1.0/\0${XMP}`);
  const more = Buffer.concat([Buffer.from([0xff, 0xff]), segment(0xda, '\x01\x01\0\0\x3f\0').subarray(1)]);
  const pixels = Buffer.from([1, 0xff, 0, 2, 0xff, 0xd0, 3, 0xff, 0xff, 0xd7, 4]);
  const scans = (...parts: Buffer[]) =>
    spliced(jpeg, jpeg.length - 2, jpeg.length - 2, ...parts, more, pixels);
  t.same(await cleaned(scans(between)), scans());
  const adobe = segment(0xee, 'Adobe\0d\0\0\0\0\x01');
  const coloured = spliced(jpeg, 20, 20, adobe);
  const told = [segment(0xee, 'Mona'), segment(0xef, 'Mona'), segment(0xf0, 'Mona')];
  t.same(await cleaned(spliced(coloured, 20, 20, ...told)), coloured);
  const open = jpeg.subarray(0, scan + 20);
  t.same(
    await cleaned(spliced(open, 20, 20, segment(0xfe, 'Mona'))),
    open,
    'one that breaks off in its pixels',
  );
});

t.test('what cannot be read stays as it is', async (t) => {
  const { jpeg, png } = PLAIN;
  const many = (part: Buffer) => Buffer.concat(Array.from({ length: 10_000 }, () => part));
  const cases: Record<string, Buffer> = {
    nothing: Buffer.alloc(0),
    'a few bytes': Buffer.from([0xff, 0xd8, 0xff]),
    'another kind': Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
    'a photo of HEIC': Buffer.concat([
      Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic'),
      exif({ orientation: 1 }),
    ]),
    'a segment that is too long': spliced(jpeg, 20, 20, Buffer.from([0xff, 0xe1, 0xff, 0xff])),
    'a segment shorter than its length': spliced(jpeg, 20, 20, Buffer.from([0xff, 0xe1, 0, 1])),
    'bytes between segments': spliced(jpeg, 20, 20, Buffer.from('Mona')),
    'a mark of pixels outside of them': spliced(jpeg, 20, 20, Buffer.from([0xff, 0xd3])),
    'a second beginning': spliced(jpeg, 20, 20, Buffer.from([0xff, 0xd8])),
    '10,000 segments': spliced(jpeg, 20, 20, many(segment(0xfe, 'x'))),
    '10,000 chunks': spliced(
      png,
      33,
      33,
      many(Buffer.concat([pngChunk('tEXt', 'a\0b'), pngChunk('gAMA', 'gama')])),
    ),
    '10,000 chunks of a WebP': webp(
      webpChunk('VP8L', 'x'),
      many(Buffer.concat([webpChunk('ABCD', 'x'), webpChunk('ICCP', 'x')])),
    ),
    'a chunk of 4 GiB': spliced(png, 33, 33, Buffer.from([0xff, 0xff, 0xff, 0xff, ...Buffer.from('tEXt')])),
    'a chunk without a name': spliced(png, 33, 33, Buffer.from([0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0])),
    'a PNG without its head': spliced(png, 8, 33),
    'a PNG without its end': png.subarray(0, png.length - 12),
    'a WebP that is longer than its file': spliced(PLAIN.webp, 4, 8, Buffer.from([0xff, 0xff, 0xff, 0x7f])),
    'a chunk that is longer than its WebP': webp(
      webpChunk('VP8L', 'x'),
      Buffer.from('EXIF\xff\xff\xff\xff', 'latin1'),
    ),
    'a WebP without pixels first': webp(webpChunk('EXIF', exif({ orientation: 6 }))),
    'a frame without its head': webp(webpChunk('VP8X', Buffer.alloc(10)), webpChunk('ANMF', 'short')),
    'a frame with a chunk that leaves it': webp(
      webpChunk('VP8X', Buffer.alloc(10)),
      webpChunk('ANMF', Buffer.concat([Buffer.alloc(16), Buffer.from('VP8 \xff\0\0\0', 'latin1')])),
      webpChunk('ICCP', Buffer.alloc(400)),
    ),
    'a GIF with a block of no kind': spliced(PLAIN.gif, 19, 19, Buffer.from([7])),
    'a GIF whose comment does not end': Buffer.concat([
      PLAIN.gif.subarray(0, 19),
      Buffer.from('\x21\xfe\xffMona', 'latin1'),
    ]),
  };
  for (const [name, bytes] of Object.entries(cases)) t.equal(await cleaned(bytes), null, name);
});

t.test('a hostile picture of many megabytes is read within a moment, piece by piece', async (t) => {
  const MIB = 1024 * 1024;
  const marks = spliced(
    PLAIN.jpeg,
    PLAIN.jpeg.length - 2,
    PLAIN.jpeg.length - 2,
    Buffer.alloc(8 * MIB, 'ff00', 'hex'),
  );
  t.equal((await findEdits(fileOf(marks)))?.isEmpty, true);
  const filled = spliced(PLAIN.jpeg, 20, 20, Buffer.alloc(8 * MIB, 0xff));
  t.equal(await findEdits(fileOf(filled)), null, 'a marker of millions of bytes');
  const empty = spliced(
    PLAIN.png,
    PLAIN.png.length - 12,
    PLAIN.png.length - 12,
    Buffer.alloc(12 * 100_001, pngChunk('IDAT', '')),
  );
  t.equal(await findEdits(fileOf(empty)), null, 'more parts than any picture has');
  const large = spliced(
    PLAIN.png,
    PLAIN.png.length - 12,
    PLAIN.png.length - 12,
    Buffer.alloc(12 * 13_000, pngChunk('IDAT', '')),
  );
  t.equal((await findEdits(fileOf(large)))?.isEmpty, true, 'as many as one of 100 MB has');
});
