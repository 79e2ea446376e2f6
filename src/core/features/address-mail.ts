import type { Db } from '../../platform/db/connection/handle.ts';
import { defineTopic } from '../../platform/db/queue/topic.ts';
import { defineHook } from '../../platform/hooks.ts';
import type { NodeSettings } from './node-settings.ts';

/**
 * An address waits for the mail that confirms it. The feature that sends mail makes the mail, whose
 * text the feature that knows the confirmation writes at each try (CONFIRMATION_MAIL).
 */
export const CONFIRMATION_DUE = defineTopic<ConfirmationDue>('addresses.confirmation_due');

export interface ConfirmationDue {
  readonly confirmation_id: string;
  readonly account_id: string;
  readonly address: string;
}

/**
 * Writes the mail that confirms an address, or returns undefined if it is not wanted any more.
 * Without it such mails are canceled.
 */
export const CONFIRMATION_MAIL = defineHook<
  (db: Db, confirmationId: string, publicUrl: string) => Promise<MailText | undefined>
>('addresses.confirmation_mail');

/** Returns whether a node with this configuration sends mail. Without it none does. */
export const SENDS_MAIL = defineHook<(config: NodeSettings) => boolean>('mail.is_sent');

/** A mail without its addresses. */
export interface MailText {
  /** A single line. */
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}
