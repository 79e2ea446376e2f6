import type { StreamSeal } from '@parley/protocol/socket/event-data.ts';

/**
 * Returns whether the text matches its seal. False on pages without TLS, where browsers have no
 * hashes: the text is then read again over REST.
 */
export async function isSealed(body: string, { length, sha256 }: StreamSeal): Promise<boolean> {
  if (body.length !== length) return false;
  const { subtle }: Partial<typeof crypto> = crypto;
  const hash = await subtle?.digest('SHA-256', new TextEncoder().encode(body));
  const bytes = hash === undefined ? [] : [...new Uint8Array(hash)];
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('') === sha256;
}
