import type { Edits } from './edits.ts';
import { type PictureReader, UnreadablePicture } from './picture-reader.ts';

/**
 * Finds the comments of a GIF, and the extensions of programs other than those that say how often
 * it is repeated and which colours it has. What follows its end goes too. Throws UnreadablePicture.
 */
export async function editGif(reader: PictureReader, edits: Edits): Promise<void> {
  await reader.skip(10);
  const [screen] = await reader.take(3);
  await reader.skip(tableBytes(screen!));
  // The end is often missing.
  while (reader.position < reader.size) {
    const from = reader.beginPart();
    const [kind] = await reader.take(1);
    if (kind === END) return edits.remove(reader.position, reader.size);
    if (kind === IMAGE) {
      const head = await reader.take(9);
      // One byte more: how long the codes of the pixels are.
      await reader.skip(tableBytes(head[8]!) + 1);
      await reader.skipBlocks();
    } else if (kind === EXTENSION) {
      const [label, length] = await reader.take(2);
      const name = (await reader.take(length!)).toString('latin1');
      if (length !== 0) await reader.skipBlocks();
      if (label === COMMENT || (label === APPLICATION && !SHOWN.has(name)))
        edits.remove(from, reader.position);
    } else {
      throw new UnreadablePicture('A block has no kind.');
    }
  }
}

const END = 0x3b;
const IMAGE = 0x2c;
const EXTENSION = 0x21;
const COMMENT = 0xfe;
const APPLICATION = 0xff;
const SHOWN: ReadonlySet<string> = new Set(['NETSCAPE2.0', 'ANIMEXTS1.0', 'ICCRGBG1012']);

/** Returns the size of the table of colours that these flags announce. */
function tableBytes(flags: number): number {
  return (flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1);
}
