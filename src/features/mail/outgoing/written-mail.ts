import type { Tx } from '../../../platform/db/connection/handle.ts';
import type { MailRow } from '../mail-store.ts';
import type { MailContent } from './compose-mail.ts';

/** A mail in full at the time of a try, or why it is not sent now. */
export type WrittenMail = (
  | {
      readonly content: MailContent;
      /** Where bounces go. */
      readonly sender: string;
    }
  /** `canceled`: it will not be sent. `deferred`: it may be later. */
  | { readonly unsent: 'canceled' | 'deferred'; readonly reason: string }
) & {
  /** Called in the transaction that ends the mail. */
  readonly onEnd?: (tx: Tx) => Promise<void>;
};

/** Writes a mail from what is stored, at each try. */
export type MailWriter = (mail: MailRow) => Promise<WrittenMail>;
