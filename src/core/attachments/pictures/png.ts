import { crc32 } from 'node:zlib';
import type { Edits } from './edits.ts';
import { MOST_EXIF_BYTES, orientationAlone } from './orientation.ts';
import { type PictureReader, UnreadablePicture } from './picture-reader.ts';

/**
 * Finds the chunks of a PNG, animated or not, that are not needed to show it: texts, the time, Exif
 * and unknown ones. What follows its end goes too. Throws UnreadablePicture.
 */
export async function editPng(reader: PictureReader, edits: Edits): Promise<void> {
  await reader.skip(SIGNATURE_BYTES);
  for (;;) {
    const from = reader.beginPart();
    const head = await reader.take(8);
    const length = head.readUInt32BE();
    const type = head.toString('latin1', 4);
    if (!/^[A-Za-z]{4}$/.test(type)) throw new UnreadablePicture('A chunk has no type.');
    if (from === SIGNATURE_BYTES && type !== 'IHDR') throw new UnreadablePicture('The head is missing.');
    if (type === 'eXIf' && length <= MOST_EXIF_BYTES) {
      const exif = await reader.take(length);
      await reader.skip(CRC_BYTES);
      const turned = orientationAlone(exif);
      if (turned === null) edits.remove(from, reader.position);
      else if (!turned.equals(exif)) edits.replace(from, reader.position, chunk(type, turned));
      continue;
    }
    await reader.skip(length + CRC_BYTES);
    if (type === 'IEND') return edits.remove(reader.position, reader.size);
    if (!IS_CRITICAL.test(type) && !SHOWN.has(type)) edits.remove(from, reader.position);
  }
}

const SIGNATURE_BYTES = 8;
const CRC_BYTES = 4;
const IS_CRITICAL = /^[A-Z]/;

/** Chunks that are not critical and say how the picture is shown: colours, sizes and animation. */
const SHOWN: ReadonlySet<string> = new Set(
  'tRNS cHRM gAMA iCCP sBIT sRGB cICP mDCV cLLI bKGD hIST pHYs sPLT acTL fcTL fdAT'.split(' '),
);

function chunk(type: string, data: Buffer): Buffer {
  const whole = Buffer.alloc(data.length + 12);
  whole.writeUInt32BE(data.length);
  whole.write(type, 4, 'latin1');
  data.copy(whole, 8);
  whole.writeUInt32BE(crc32(whole.subarray(4, -CRC_BYTES)), whole.length - CRC_BYTES);
  return whole;
}
