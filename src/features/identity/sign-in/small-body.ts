export const SMALL_BODY_BYTES = 32 * 1024;

export interface SmallBody {
  readonly contentLength: number;
  readonly body: AsyncIterable<Buffer>;
}

/** Returns the text of a body, or undefined for one of more than SMALL_BODY_BYTES. */
export async function readSmallBody({ contentLength, body }: SmallBody): Promise<string | undefined> {
  if (contentLength > SMALL_BODY_BYTES) return undefined;
  const pieces: Buffer[] = [];
  for await (const piece of body) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces).toString();
}
