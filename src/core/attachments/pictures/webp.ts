import type { Edits } from './edits.ts';
import { MOST_EXIF_BYTES, orientationAlone } from './orientation.ts';
import { type PictureReader, UnreadablePicture } from './picture-reader.ts';

/**
 * Finds the chunks of a WebP, animated or not, that are not needed to show it: Exif, XMP and
 * unknown ones, also within frames. What follows its end goes too. Throws UnreadablePicture.
 */
export async function editWebp(reader: PictureReader, edits: Edits): Promise<void> {
  const head = await reader.take(HEAD_BYTES);
  const end = head.readUInt32LE(4) + CHUNK_BYTES;
  if (end > reader.size) throw new UnreadablePicture('The picture ends too early.');
  edits.remove(end, reader.size);
  let flags: { readonly at: number; readonly value: number } | undefined;
  let isTurned = false;
  while (reader.position < end) {
    const { from, type, to } = await readChunk(reader, end);
    if (from === HEAD_BYTES && !FIRST.has(type)) throw new UnreadablePicture('The head is missing.');
    if (type === 'VP8X' && flags === undefined) {
      flags = { at: reader.position, value: (await reader.take(1))[0]! };
    } else if (type === 'ANMF') {
      await editFrame(reader, edits, from, to);
    } else if (type === 'EXIF' && to - reader.position <= MOST_EXIF_BYTES) {
      const exif = await reader.take(to - reader.position);
      const turned: Buffer | null =
        isTurned || flags === undefined ? null : orientationAlone(withoutHead(exif));
      isTurned ||= turned !== null;
      if (turned === null) edits.remove(from, to);
      else if (!turned.equals(exif)) edits.replace(from, to, chunk(type, turned));
    } else if (!SHOWN.has(type)) {
      edits.remove(from, to);
    }
    await reader.skip(to - reader.position);
  }
  const lost = edits.lostBetween(HEAD_BYTES, end);
  if (lost !== 0) edits.replace(4, 8, length(end - CHUNK_BYTES - lost));
  const { at = 0, value = 0 } = flags ?? {};
  const shown = (value & ~(HAS_EXIF | HAS_XMP)) | (isTurned ? HAS_EXIF : 0);
  if (shown !== value) edits.replace(at, at + 1, Buffer.from([shown]));
}

const HEAD_BYTES = 12;
/** The type and the length of a chunk, which its content follows, to an even number of bytes. */
const CHUNK_BYTES = 8;
/** What a frame of an animation begins with, before its chunks. */
const FRAME_BYTES = 16;
const HAS_EXIF = 0x08;
const HAS_XMP = 0x04;

const FIRST: ReadonlySet<string> = new Set(['VP8X', 'VP8 ', 'VP8L']);
const PIXELS: ReadonlySet<string> = new Set(['VP8 ', 'VP8L', 'ALPH']);
const SHOWN: ReadonlySet<string> = new Set([...PIXELS, 'ICCP', 'ANIM']);

/** Reads the beginning of a chunk, which ends before `end`. */
async function readChunk(reader: PictureReader, end: number) {
  const from = reader.beginPart();
  const head = await reader.take(CHUNK_BYTES);
  const contentEnd = reader.position + head.readUInt32LE(4);
  if (contentEnd > end) throw new UnreadablePicture('A chunk is longer than what it is in.');
  // The last one may lack the byte that makes its length even.
  const to = Math.min(contentEnd + (contentEnd % 2), end);
  return { from, type: head.toString('latin1', 0, 4), to };
}

async function editFrame(reader: PictureReader, edits: Edits, from: number, to: number): Promise<void> {
  if (reader.position + FRAME_BYTES > to) throw new UnreadablePicture('A frame is too short.');
  await reader.skip(FRAME_BYTES);
  const first = reader.position;
  while (reader.position < to) {
    const part = await readChunk(reader, to);
    if (!PIXELS.has(part.type)) edits.remove(part.from, part.to);
    await reader.skip(part.to - reader.position);
  }
  const lost = edits.lostBetween(first, to);
  if (lost !== 0) edits.replace(from + 4, from + CHUNK_BYTES, length(to - from - CHUNK_BYTES - lost));
}

/** Some programs write the head of Exif in a JPEG before it. */
function withoutHead(exif: Buffer): Buffer {
  return exif.toString('latin1', 0, 6) === 'Exif\0\0' ? exif.subarray(6) : exif;
}

function chunk(type: string, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from(type, 'latin1'), length(content.length), content]);
}

function length(bytes: number): Buffer {
  const written = Buffer.alloc(4);
  written.writeUInt32LE(bytes);
  return written;
}
