/** The part of `DataTransfer` that decides. */
export interface Transferred {
  readonly types: readonly string[];
  readonly files: ArrayLike<File>;
  getData(type: string): string;
}

/**
 * Returns the files of a paste, or none if it is a text: word processors put a picture of the words
 * beside them.
 */
export function pastedFiles(data: Transferred | null): File[] {
  if (data === null || data.getData('text/plain').trim() !== '') return [];
  return Array.from(data.files);
}

/** Returns whether files are being dragged, and not words or a link. */
export function hasFiles(data: Pick<Transferred, 'types'> | null): boolean {
  return data?.types.includes('Files') ?? false;
}
