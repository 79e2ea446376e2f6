/** Stands in a body for the number of the request; as long as what it becomes. */
export const UNIQUE = '000000000000';

let last = 0;

/**
 * Writes a number that is never repeated over the digits that end before `end`. Building a new
 * request for each number would cost the generator more than sending it.
 */
export function writeUnique(bytes: Buffer, end: number): void {
  last += 1;
  let at = end;
  for (let rest = last; rest > 0; rest = Math.floor(rest / 10)) {
    at -= 1;
    bytes[at] = ZERO + (rest % 10);
  }
}

/** Returns how many bytes follow UNIQUE in a body. */
export function bytesBehindUnique(body: string): number {
  return Buffer.byteLength(body.slice(body.indexOf(UNIQUE) + UNIQUE.length));
}

const ZERO = '0'.charCodeAt(0);
