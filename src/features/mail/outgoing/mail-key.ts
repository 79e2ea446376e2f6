import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Database } from '../../../platform/db/connection/database.ts';
import { sharedSecret } from '../../../platform/db/shared-secret.ts';

/** The secret that seals Message-IDs and bounce addresses, shared by all nodes of a database. */
export type MailKey = string;

export function openMailKey(database: Database): Promise<MailKey> {
  return sharedSecret(database, 'mail_ids');
}

/** Returns 16 hexadecimal digits that prove the key. Ignores case, which some servers change. */
export function sealOf(key: MailKey, purpose: 'message-id' | 'bounce', text: string): string {
  const sealed = createHmac('sha256', key).update(`${purpose} ${text.toLowerCase()}`);
  return sealed.digest('hex').slice(0, 16);
}

export function isSealed(
  key: MailKey,
  purpose: Parameters<typeof sealOf>[1],
  text: string,
  seal: string,
): boolean {
  const right = Buffer.from(sealOf(key, purpose, text));
  const given = Buffer.from(seal.toLowerCase());
  return given.length === right.length && timingSafeEqual(given, right);
}
