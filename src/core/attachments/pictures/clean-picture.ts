import type { FileBytes, ObjectStore } from '../storage.ts';
import { findEdits } from './find-edits.ts';

/** A picture of the store that has no metadata. */
export interface CleanPicture {
  readonly key: string;
  /** In bytes. */
  readonly size: number;
}

/**
 * Returns a picture without its metadata: the file itself where it has none, else a file that is
 * written under the key that `placeFor` returns for its size in bytes, which may be the same key.
 * Null for a picture that cannot be read, and for a file that is not there. May run for one picture
 * at the same time on several nodes. Rejects with the error of the store, or of `placeFor`.
 */
export async function cleanPicture(
  store: Pick<ObjectStore, 'open' | 'putStream'>,
  { key, contentType }: { readonly key: string; readonly contentType: string },
  placeFor: (size: number) => Promise<string>,
): Promise<CleanPicture | null> {
  for (;;) {
    const file = await store.open(key);
    const edits = file && (await findEdits(file));
    if (!edits) return null;
    if (edits.isEmpty) return { key, size: file.size };
    const again = await store.open(key);
    const size = file.size - edits.lostBetween(0, file.size);
    if (again === undefined) return null;
    if (again.size !== file.size) {
      // Another request has cleaned it in between.
      await release(again);
      continue;
    }
    const place = await placeFor(size);
    await store.putStream({ key: place, contentType }, edits.applyTo(again), { replaces: place === key });
    return { key: place, size };
  }
}

/** Ends the reading of a file before its first byte, which holds a connection to object storage. */
async function release(file: FileBytes): Promise<void> {
  await file.read()[Symbol.asyncIterator]().return?.();
}
