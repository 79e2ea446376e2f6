import type { EmailVerdict } from '@parley/protocol/resources/email.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import { defineHook } from '../../platform/hooks.ts';

/** Reads a mail for the model of a run that it started. Without it the run gets the mail's id. */
export const MAIL_CONTENT =
  defineHook<(db: Db, id: string) => Promise<MailContent | undefined>>('mail.content');

export interface MailContent {
  readonly from_name: string | null;
  readonly from_address: string | null;
  readonly subject: string | null;
  readonly verdict: EmailVerdict | null;
  /** The whole text, quotes and signature included. */
  readonly body_text: string | null;
}
