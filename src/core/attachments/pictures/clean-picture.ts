import { KeyedLimiter } from '../../../platform/lifecycle.ts';
import type { FileBytes, ObjectStore } from '../storage.ts';
import { findEdits } from './find-edits.ts';

/** A picture of the store that has no metadata. */
export interface CleanPicture {
  readonly key: string;
  /** In bytes. */
  readonly size: number;
}

type Store = Pick<ObjectStore, 'open' | 'putStream'>;

/** Returns the key for a picture of this size, in bytes. */
type PlaceFor = (size: number) => Promise<string>;

interface PictureFile {
  readonly key: string;
  readonly contentType: string;
}

/** A picture holds a part of 8 MiB in memory on its way to object storage. */
const pictures = new KeyedLimiter(4);

/**
 * Returns a picture without its metadata: the file itself where it has none, else a file that is
 * written under the key of `placeFor`, which may be the same key. Null for a picture that cannot be
 * read, and for a file that is not there. May run for one picture on several nodes at the same
 * time; a node writes a few pictures at a time. Rejects with the error of the store, or of
 * `placeFor`.
 */
export function cleanPicture(
  store: Store,
  file: PictureFile,
  placeFor: PlaceFor,
): Promise<CleanPicture | null> {
  return pictures.run(file.key, () => clean(store, file, placeFor));
}

async function clean(
  store: Store,
  { key, contentType }: PictureFile,
  placeFor: PlaceFor,
): Promise<CleanPicture | null> {
  for (;;) {
    const file = await store.open(key);
    const edits = file && (await findEdits(file));
    if (!edits) return null;
    if (edits.isEmpty) return { key, size: file.size };
    const again = await store.open(key);
    if (again === undefined) return null;
    if (again.size !== file.size) {
      // Another node has cleaned it in between.
      await release(again);
      continue;
    }
    try {
      const size = file.size - edits.lostBetween(0, file.size);
      const place = await placeFor(size);
      await store.putStream({ key: place, contentType }, edits.applyTo(again), { replaces: place === key });
      return { key: place, size };
    } catch (error) {
      await release(again);
      throw error;
    }
  }
}

/** Ends the reading of a file before its end, which would hold a connection to object storage. */
async function release(file: FileBytes): Promise<void> {
  await file.read()[Symbol.asyncIterator]().return?.();
}
