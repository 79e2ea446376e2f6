/** Pictures of 16 by 8 pixels, and what cameras and programs write into them. */

import { crc32 } from 'node:zlib';

/** As Chromium has written them; the left half is red and the right half blue. */
export const PLAIN = {
  jpeg: Buffer.from(
    '/9j/4AAQSkZJRgABAQAAAQABAAD/4gHYSUNDX1BST0ZJTEUAAQEAAAHIAAAAAAQwAABtbnRyUkdCIFhZWiAH4AABAAEAAAAA' +
      'AABhY3NwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQAA9tYAAQAAAADTLQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' +
      'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAlkZXNjAAAA8AAAACRyWFlaAAABFAAAABRnWFlaAAABKAAAABRiWFlaAAABPAAA' +
      'ABR3dHB0AAABUAAAABRyVFJDAAABZAAAAChnVFJDAAABZAAAAChiVFJDAAABZAAAAChjcHJ0AAABjAAAADxtbHVjAAAAAAAA' +
      'AAEAAAAMZW5VUwAAAAgAAAAcAHMAUgBHAEJYWVogAAAAAAAAb6IAADj1AAADkFhZWiAAAAAAAABimQAAt4UAABjaWFlaIAAA' +
      'AAAAACSgAAAPhAAAts9YWVogAAAAAAAA9tYAAQAAAADTLXBhcmEAAAAAAAQAAAACZmYAAPKnAAANWQAAE9AAAApbAAAAAAAA' +
      'AABtbHVjAAAAAAAAAAEAAAAMZW5VUwAAACAAAAAcAEcAbwBvAGcAbABlACAASQBuAGMALgAgADIAMAAxADb/2wBDAFA3PEY8' +
      'MlBGQUZaVVBfeMiCeG5uePWvuZHI////////////////////////////////////////////////////2wBDAVVaWnhpeOuC' +
      'guv/////////////////////////////////////////////////////////////////////////wAARCAAIABADASIAAhEB' +
      'AxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAP/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFQEBAQAAAAAAAAAAAAAAAAAAAgP/' +
      'xAAWEQADAAAAAAAAAAAAAAAAAAAAA0H/2gAMAwEAAhEDEQA/AIJgaqUbD//Z',
    'base64',
  ),
  png: Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAABAAAAAICAYAAADwdn+XAAAAJ0lEQVR4AeyQoQ0AAAyDSP8/rT91H9RMzIwEi0CGNMFpiiUf' +
      'gPsHAwAA//8+QwwuAAAABklEQVQDAKcaHMF9e8MPAAAAAElFTkSuQmCC',
    'base64',
  ),
  webp: Buffer.from(
    'UklGRhYCAABXRUJQVlA4WAoAAAAgAAAADwAABwAASUNDUMgBAAAAAAHIAAAAAAQwAABtbnRyUkdCIFhZWiAH4AABAAEAAAAA' +
      'AABhY3NwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQAA9tYAAQAAAADTLQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' +
      'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAlkZXNjAAAA8AAAACRyWFlaAAABFAAAABRnWFlaAAABKAAAABRiWFlaAAABPAAA' +
      'ABR3dHB0AAABUAAAABRyVFJDAAABZAAAAChnVFJDAAABZAAAAChiVFJDAAABZAAAAChjcHJ0AAABjAAAADxtbHVjAAAAAAAA' +
      'AAEAAAAMZW5VUwAAAAgAAAAcAHMAUgBHAEJYWVogAAAAAAAAb6IAADj1AAADkFhZWiAAAAAAAABimQAAt4UAABjaWFlaIAAA' +
      'AAAAACSgAAAPhAAAts9YWVogAAAAAAAA9tYAAQAAAADTLXBhcmEAAAAAAAQAAAACZmYAAPKnAAANWQAAE9AAAApbAAAAAAAA' +
      'AABtbHVjAAAAAAAAAAEAAAAMZW5VUwAAACAAAAAcAEcAbwBvAGcAbABlACAASQBuAGMALgAgADIAMAAxADZWUDggKAAAAHAB' +
      'AJ0BKhAACAAHQJYloAJ0AUAAAP7sje8zmH9sLDx4f/BAbfwioAA=',
    'base64',
  ),
  gif: Buffer.from('R0lGODlhAgABAPAAAMwAAAAAzCwAAAAAAgABAAACAkQKADs=', 'base64'),
} as const;

export type PictureKind = keyof typeof PLAIN;

/** What no picture may tell. */
export const SECRETS = ['Secretphone', 'Mona', 'Hiddentown', '2026:11:29'];

export interface Tiff {
  readonly orientation: number;
  readonly isBigEndian?: boolean;
}

/** Returns Exif with a device, a time, an author and a place, as cameras write it. */
export function exif({ orientation, isBigEndian = true }: Tiff): Buffer {
  const number = (bytes: number, value: number) => {
    const written = Buffer.alloc(bytes);
    if (isBigEndian) written.writeUIntBE(value, 0, bytes);
    else written.writeUIntLE(value, 0, bytes);
    return written;
  };
  const [short, long] = [number.bind(null, 2), number.bind(null, 4)];
  const entry = (tag: number, type: number, count: number, held: Buffer) =>
    Buffer.concat([short(tag), short(type), long(count), held]);
  const texts = [
    [0x010f, 'Secretphone\0'],
    [0x0110, 'Secretphone 9\0'],
    [0x0132, '2026:11:29 10:00:00\0'],
    [0x013b, 'Mona Miller\0'],
  ] as const;
  let at = 8 + 2 + (texts.length + 2) * 12 + 4;
  const entries: Buffer[] = [];
  for (const [tag, text] of texts) {
    entries.push(entry(tag, 2, text.length, long(at)));
    at += text.length;
  }
  entries.splice(2, 0, entry(0x0112, 3, 1, Buffer.concat([short(orientation), short(0)])));
  entries.push(entry(0x8825, 4, 1, long(at)));
  const valuesAt = at + 2 + 4 * 12 + 4;
  const place = [
    short(4),
    entry(1, 2, 2, Buffer.from('N\0\0\0')),
    entry(2, 5, 3, long(valuesAt)),
    entry(3, 2, 2, Buffer.from('E\0\0\0')),
    entry(4, 5, 3, long(valuesAt)),
    long(0),
    ...[52, 1, 31, 1, 12, 1].map(long),
  ];
  const head = [Buffer.from(isBigEndian ? 'MM\0*' : 'II*\0', 'latin1'), long(8), short(entries.length)];
  const data = texts.map(([, text]) => Buffer.from(text));
  return Buffer.concat([...head, ...entries, long(0), ...data, ...place]);
}

export const XMP =
  '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">' +
  '<rdf:Description xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/" photoshop:City="Hiddentown"/>' +
  '</rdf:RDF></x:xmpmeta>';

export function segment(marker: number, content: Buffer | string): Buffer {
  const bytes = Buffer.from(content as string, 'latin1');
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(bytes.length + 2, 2);
  return Buffer.concat([head, bytes]);
}

export function pngChunk(type: string, content: Buffer | string): Buffer {
  const named = Buffer.concat([Buffer.from(type), Buffer.from(content as string, 'latin1')]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(named.length - 4);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

export function webpChunk(type: string, content: Buffer | string): Buffer {
  const bytes = Buffer.from(content as string, 'latin1');
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  return Buffer.concat([Buffer.from(type), length, bytes, Buffer.alloc(bytes.length % 2)]);
}

export function webp(...chunks: readonly Buffer[]): Buffer {
  return webpChunk('RIFF', Buffer.concat([Buffer.from('WEBP'), ...chunks]));
}

/** Returns bytes with others in place of those between two places. */
export function spliced(bytes: Buffer, from: number, to: number, ...others: readonly Buffer[]): Buffer {
  return Buffer.concat([bytes.subarray(0, from), ...others, bytes.subarray(to)]);
}

/** Returns the chunks of a plain WebP by their types. */
export function webpParts(bytes: Buffer): ReadonlyMap<string, Buffer> {
  const parts = new Map<string, Buffer>();
  for (let at = 12; at < bytes.length; ) {
    const end = at + 8 + bytes.readUInt32LE(at + 4);
    parts.set(bytes.toString('latin1', at, at + 4), bytes.subarray(at + 8, end));
    at = end + (end % 2);
  }
  return parts;
}

/** Returns a picture with everything that tells about its place, its device and its time. */
export function telling(kind: PictureKind, tiff: Tiff = { orientation: 6 }): Buffer {
  const plain = PLAIN[kind];
  if (kind === 'jpeg') {
    const head = [
      segment(0xe1, Buffer.concat([Buffer.from('Exif\0\0'), exif(tiff)])),
      segment(0xe1, `http://ns.adobe.com/xap/1.0/\0${XMP}`),
      segment(0xe2, 'MPF\0Secretphone'),
      segment(0xed, 'Photoshop 3.0\x008BIM\x04\x04\0\0\0\0\0\x0f\x1c\x02Z\0\nHiddentown\0'),
      segment(0xfe, 'by Mona'),
    ];
    // Behind JFIF; a preview and a film follow the end.
    const film = Buffer.from('a film of Secretphone');
    return Buffer.concat([spliced(plain, 20, 20, ...head), plain, film]);
  }
  if (kind === 'png') {
    const head = [
      pngChunk('eXIf', exif(tiff)),
      pngChunk('tEXt', 'Author\0Mona'),
      pngChunk('iTXt', `XML:com.adobe.xmp\0\0\0\0\0${XMP}`),
      pngChunk('tIME', Buffer.from([7, 234, 11, 29, 10, 0, 0])),
      pngChunk('maKe', 'Secretphone'),
    ];
    return Buffer.concat([spliced(plain, 33, 33, ...head), Buffer.from('Secretphone')]);
  }
  if (kind === 'webp') {
    const parts = webpParts(plain);
    const flags = Buffer.from(parts.get('VP8X')!);
    flags[0]! |= 0x0c;
    const [shown, told] = [
      [
        webpChunk('VP8X', flags),
        webpChunk('ICCP', parts.get('ICCP')!),
        webpChunk('VP8 ', parts.get('VP8 ')!),
      ],
      [webpChunk('EXIF', exif(tiff)), webpChunk('XMP ', XMP), webpChunk('MAKE', 'Secretphone')],
    ];
    return Buffer.concat([webp(...shown, ...told), Buffer.from('Secretphone')]);
  }
  const comment = Buffer.concat([Buffer.from([0x21, 0xfe, 7]), Buffer.from('by Mona'), Buffer.from([0])]);
  const loop = Buffer.concat([Buffer.from('\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0', 'latin1')]);
  const xmp = Buffer.from(`\x21\xff\x0bXMP DataXMP\x0aHiddentown\0`, 'latin1');
  return Buffer.concat([spliced(plain, 19, 19, loop, comment, xmp), Buffer.from('Secretphone')]);
}
