/**
 * Yields pieces, and frees the memory of each when the next one is requested. A piece is valid only
 * until then. The engine frees memory outside its heap when the heap is full, and a few hundred
 * pieces of a mail never fill it.
 */
export async function* releasing(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  for await (const piece of bytes) {
    yield piece;
    release(piece);
  }
}

/** Smaller pieces may lie in a pool that they share with others. */
const OWN_BYTES = 16 * 1024;

function release({ buffer, byteLength }: Buffer): void {
  if (!(buffer instanceof ArrayBuffer) || byteLength < OWN_BYTES || byteLength !== buffer.byteLength) return;
  buffer.transfer(0);
}
