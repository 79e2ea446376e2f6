import { randomBytes } from 'node:crypto';

/** Hours for which the secret before a rotation signs as well. */
export const PREVIOUS_SECRET_HOURS = 24;

export function newSecret(): Buffer {
  return randomBytes(SECRET_BYTES);
}

/** Returns the form in which a receiver gets it, as Standard Webhooks has it. */
export function shownSecret(secret: Buffer): string {
  return `whsec_${secret.toString('base64')}`;
}

const SECRET_BYTES = 32;
