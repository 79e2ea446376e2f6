import { createHmac } from 'node:crypto';

/** The secrets that sign requests to a receiver: after a rotation there are two, for some time. */
export interface SigningSecrets {
  readonly secret: Buffer;
  readonly previous_secret: Buffer | null;
  readonly previous_secret_until: string | null;
}

export interface Signed {
  readonly id: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
  readonly body: string;
}

/** Returns the three headers of Standard Webhooks. */
export function signatureHeaders(secrets: SigningSecrets, signed: Signed) {
  return {
    'webhook-id': signed.id,
    'webhook-timestamp': String(signed.timestamp),
    'webhook-signature': signatureOf(secrets, signed),
  } as const;
}

/** Returns a secret as its owner is shown it. */
export function shownSecret(secret: Buffer): string {
  return `whsec_${secret.toString('base64')}`;
}

/**
 * Returns the header `webhook-signature` of Standard Webhooks. After a rotation it has a signature
 * for each of the two secrets, separated by a space.
 */
export function signatureOf(
  { secret, previous_secret: previous, previous_secret_until: until }: SigningSecrets,
  signed: Signed,
): string {
  const newest = sign(secret, signed);
  if (previous === null || until === null || Date.parse(until) <= signed.timestamp * 1_000) return newest;
  return `${newest} ${sign(previous, signed)}`;
}

function sign(secret: Buffer, { id, timestamp, body }: Signed): string {
  return `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}
