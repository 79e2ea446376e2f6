import { createHmac } from 'node:crypto';
import type { Receiver } from './delivery.ts';

export interface Signed {
  /** The id of the event: the same for every try. */
  readonly id: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
  readonly body: string;
}

/**
 * Returns the header `webhook-signature` of Standard Webhooks. After a rotation it has a signature
 * for each of the two secrets, separated by a space.
 */
export function signatureOf(
  {
    secret,
    previous_secret: previous,
    previous_secret_until: until,
  }: Pick<Receiver, 'secret' | 'previous_secret' | 'previous_secret_until'>,
  signed: Signed,
): string {
  const newest = sign(secret, signed);
  if (previous === null || until === null || Date.parse(until) <= signed.timestamp * 1_000) return newest;
  return `${newest} ${sign(previous, signed)}`;
}

function sign(secret: Buffer, { id, timestamp, body }: Signed): string {
  return `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}
