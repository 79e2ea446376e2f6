/**
 * Passes pieces on, and frees the memory of each when the next one is asked for: until then it is
 * valid, and not longer. The engine frees what lies outside of its heap when the heap is full, and
 * a few hundred pieces of a mail never fill it.
 */
export async function* releasing(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  for await (const piece of bytes) {
    yield piece;
    release(piece);
  }
}

/** Smaller ones may lie in a pool that others have a part of. */
const OWN_BYTES = 16 * 1024;

function release({ buffer, byteLength }: Buffer): void {
  if (!(buffer instanceof ArrayBuffer) || byteLength < OWN_BYTES || byteLength !== buffer.byteLength) return;
  buffer.transfer(0);
}
