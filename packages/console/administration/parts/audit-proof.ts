import { canonicalJson } from '@parley/protocol/json/canonical-json.ts';
import type { AuditHead } from '@parley/protocol/resources/audit-event.ts';
import { texts } from '../../texts/texts.ts';

export type Verdict = 'valid' | 'invalid' | 'unsupported';

/** Checks the signature of a head: ed25519 over the canonical JSON of its other fields. */
export async function verdictOn({ signature, ...content }: AuditHead): Promise<Verdict> {
  const subtle = globalThis.crypto?.subtle;
  // Pages without TLS have no `subtle`, and older browsers have no Ed25519.
  if (subtle === undefined) return 'unsupported';
  try {
    const key = await subtle.importKey('raw', bytesOf(content.public_key), 'Ed25519', false, ['verify']);
    const text = new TextEncoder().encode(canonicalJson(content));
    return (await subtle.verify('Ed25519', key, bytesOf(signature), text)) ? 'valid' : 'invalid';
  } catch (error) {
    return error instanceof DOMException && error.name === 'NotSupportedError' ? 'unsupported' : 'invalid';
  }
}

/** Says how a head contradicts a kept earlier head; undefined if it does not. */
export function contradiction(
  now: Pick<AuditHead, 'number' | 'hash'>,
  kept: Pick<AuditHead, 'number' | 'hash'>,
): string | undefined {
  if (now.number < kept.number) {
    return texts.administration.chainCut(now.number, kept.number);
  }
  if (now.number === kept.number && now.hash !== kept.hash) {
    return texts.administration.chainRewritten(now.number);
  }
  return undefined;
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const base64 = text.replaceAll('-', '+').replaceAll('_', '/');
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}
