import type { Tx } from '../../../platform/db/connection/handle.ts';
import type { MailRow } from '../mail-store.ts';
import type { MailContent } from './compose-mail.ts';

/** A complete mail at the time of a try, or the reason why it is not sent now. */
export type WrittenMail = (
  | {
      readonly content: MailContent;
      /** Where bounces go. */
      readonly sender: string;
    }
  /** `canceled` mail will not be sent; `deferred` mail may be sent later. */
  | { readonly unsent: 'canceled' | 'deferred'; readonly reason: string }
) & {
  /** Called in the transaction that ends the mail. */
  readonly onEnd?: (tx: Tx) => Promise<void>;
};

/** Writes a mail from stored data, at each try. */
export type MailWriter = (mail: MailRow) => Promise<WrittenMail>;
