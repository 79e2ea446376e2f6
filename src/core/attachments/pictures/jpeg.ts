import type { Edits } from './edits.ts';
import { orientationAlone } from './orientation.ts';
import { type PictureReader, UnreadablePicture } from './picture-reader.ts';

/**
 * Finds the segments of a JPEG that tell about the camera, the place or the program: applications'
 * ones and comments, without JFIF, the colour profile and Adobe's colour transform, which are
 * needed to show the picture. What follows its end goes too: previews, films, and data of the
 * maker. Throws UnreadablePicture.
 */
export async function editJpeg(reader: PictureReader, edits: Edits): Promise<void> {
  await reader.skip(2);
  let hasExif = false;
  let marker: number | undefined = await readMarker(reader);
  // A picture that breaks off within its pixels is shown as far as it goes.
  while (marker !== undefined) {
    const from = reader.beginPart() - 2;
    if (marker === END) return edits.remove(reader.position, reader.size);
    const length = (await reader.take(2)).readUInt16BE() - 2;
    if (length < 0) throw new UnreadablePicture('A segment is shorter than its length.');
    // Those of applications, extensions and comments; all before say how the pixels are coded.
    if (marker >= APPLICATION) {
      const content = await reader.take(length);
      if (!isNeeded(marker, content)) {
        const isExif = marker === APPLICATION + 1 && startsWith(content, 'Exif\0');
        const kept = isExif && !hasExif ? turned(content) : Buffer.alloc(0);
        hasExif ||= isExif;
        if (!kept.subarray(4).equals(content)) edits.replace(from, reader.position, kept);
      }
    } else {
      await reader.skip(length);
    }
    marker = marker === SCAN ? await reader.skipPast(0xff, endsScan) : await readMarker(reader);
  }
}

const END = 0xd9;
const SCAN = 0xda;
/** The first of sixteen. */
const APPLICATION = 0xe0;
const EXIF_HEAD = Buffer.from('Exif\0\0', 'latin1');

/** Reads a marker, whose first byte may stand there several times. */
async function readMarker(reader: PictureReader): Promise<number> {
  let [byte] = await reader.take(1);
  if (byte !== 0xff) throw new UnreadablePicture('A segment does not begin with a marker.');
  while (byte === 0xff) {
    reader.beginPart();
    [byte] = await reader.take(1);
  }
  if (!endsScan(byte!)) throw new UnreadablePicture('A marker is at a place where it cannot be.');
  return byte!;
}

/**
 * Whether a byte behind 0xff is a marker, neither a part of the pixels nor the first byte of one.
 */
function endsScan(byte: number): boolean {
  return byte >= 0xc0 && byte < 0xff && (byte < 0xd0 || byte > 0xd8);
}

function isNeeded(marker: number, content: Buffer): boolean {
  if (marker === APPLICATION) return startsWith(content, 'JFIF\0');
  if (marker === APPLICATION + 2) return startsWith(content, 'ICC_PROFILE\0');
  return marker === APPLICATION + 14 && startsWith(content, 'Adobe');
}

function startsWith(content: Buffer, text: string): boolean {
  return content.toString('latin1', 0, text.length) === text;
}

/** Returns a segment of Exif with nothing but how the picture is turned; empty for upright ones. */
function turned(exif: Buffer): Buffer {
  const orientation = orientationAlone(exif.subarray(EXIF_HEAD.length));
  if (orientation === null) return Buffer.alloc(0);
  const content = Buffer.concat([EXIF_HEAD, orientation]);
  const head = Buffer.from([0xff, APPLICATION + 1, 0, 0]);
  head.writeUInt16BE(content.length + 2, 2);
  return Buffer.concat([head, content]);
}
