import type { FileBytes } from '../storage.ts';
import { Edits } from './edits.ts';
import { editGif } from './gif.ts';
import { editJpeg } from './jpeg.ts';
import { PictureReader, UnreadablePicture } from './picture-reader.ts';
import { HEAD_BYTES, type PictureType, pictureTypeOf } from './picture-type.ts';
import { editPng } from './png.ts';
import { editWebp } from './webp.ts';

/**
 * Returns the changes that leave of a picture what is needed to show it, without a place, a device,
 * a time or a text; null if it cannot be read. Nothing is decoded, and one piece of the file is in
 * memory. Rejects with the error of the store.
 */
export async function findEdits(file: FileBytes): Promise<Edits | null> {
  const reader = new PictureReader(file);
  const edits = new Edits();
  try {
    const type = pictureTypeOf(await reader.peek(HEAD_BYTES));
    if (type === undefined) return null;
    await EDIT[type](reader, edits);
    return edits;
  } catch (error) {
    if (error instanceof UnreadablePicture) return null;
    throw error;
  } finally {
    await reader.close();
  }
}

const EDIT: Readonly<Record<PictureType, (reader: PictureReader, edits: Edits) => Promise<void>>> = {
  'image/png': editPng,
  'image/jpeg': editJpeg,
  'image/gif': editGif,
  'image/webp': editWebp,
};
