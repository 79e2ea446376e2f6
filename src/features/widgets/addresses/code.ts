import { createHmac, hash, timingSafeEqual } from 'node:crypto';

/**
 * The code of a mail and the token of the page that asked for it. Like the token of the link, both
 * are made of the confirmation's id and a secret: no row has them, not even as a hash, which for a
 * million codes would be none (DECISIONS.md#a-code-is-for-the-page-that-asked).
 */
export function codeOf(secret: string, confirmationId: string): string {
  const number = createHmac('sha256', secret).update(`code ${confirmationId}`).digest().readUIntBE(0, 6);
  return String(number % CODES).padStart(DIGITS, '0');
}

/** Returns the token that the answer to the page has, which names the confirmation. */
export function pageTokenOf(secret: string, confirmationId: string): string {
  return `${confirmationId}.${sealOf(secret, confirmationId)}`;
}

/** Returns the id of the confirmation that a page's token names; undefined for any other text. */
export function readPageToken(secret: string, token: string): string | undefined {
  const [id = '', seal = ''] = token.split('.');
  return isSame(seal, sealOf(secret, id)) ? id : undefined;
}

/** Compares two texts in a time that does not depend on where they differ. */
export function isSame(a: string, b: string): boolean {
  return timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'));
}

function sealOf(secret: string, confirmationId: string): string {
  return createHmac('sha256', secret).update(`page ${confirmationId}`).digest('base64url');
}

const DIGITS = 6;
const CODES = 10 ** DIGITS;
