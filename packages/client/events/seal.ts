import type { StreamSeal } from '@parley/protocol/socket/event-data.ts';
import { hexOf } from './hex.ts';

/**
 * Returns whether the text matches its seal. False on pages without TLS and in React Native, which
 * have no hashes: the text is then read again over REST.
 */
export async function isSealed(body: string, { length, sha256 }: StreamSeal): Promise<boolean> {
  if (body.length !== length) return false;
  const { subtle }: Partial<typeof crypto> = globalThis.crypto ?? {};
  const hash = await subtle?.digest('SHA-256', new TextEncoder().encode(body));
  return hash !== undefined && hexOf(new Uint8Array(hash)) === sha256;
}
