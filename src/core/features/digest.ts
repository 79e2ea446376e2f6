import type { Db, Tx } from '../../platform/db/connection/handle.ts';
import { defineHook } from '../../platform/hooks.ts';
import type { MailText } from './address-mail.ts';

/** Returns the digest that waits for a user, or undefined. Without it no digest is mailed. */
export const DIGEST_OF =
  defineHook<(db: Db, userId: string) => Promise<Digest | undefined>>('digests.of_user');

/** A mail about unseen notifications that waits for its transport. */
export interface Digest {
  readonly id: string;
  /** Returns undefined if nothing in it is unseen. */
  write(): Promise<MailText | undefined>;
  /** Removes from the digest what its mail contained. */
  settle(tx: Tx): Promise<void>;
}
