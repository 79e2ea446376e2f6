import { randomBytes } from 'node:crypto';

/** Hours for which the previous secret still signs after a rotation. */
export const PREVIOUS_SECRET_HOURS = 24;

export function newSecret(): Buffer {
  return randomBytes(SECRET_BYTES);
}

/** Returns the secret in the form of Standard Webhooks, for its receiver. */
export function shownSecret(secret: Buffer): string {
  return `whsec_${secret.toString('base64')}`;
}

const SECRET_BYTES = 32;
