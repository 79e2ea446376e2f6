import type { EmailVerdict } from '@parley/protocol/resources/email.ts';
import type { Db, Tx } from '../../platform/db/connection/handle.ts';
import { defineTopic } from '../../platform/db/queue/topic.ts';
import type { NodeSettings } from './node-settings.ts';

/**
 * An address waits for its confirmation mail. The feature that sends mail makes the mail; the
 * feature that knows the confirmation writes its text at each try (`confirmationMail`).
 */
export const CONFIRMATION_DUE = defineTopic<ConfirmationDue>('addresses.confirmation_due');

export interface ConfirmationDue {
  readonly confirmation_id: string;
  readonly account_id: string;
  readonly address: string;
}

/** A user waits for the mail of an invitation, which is made in the same way (`invitationMail`). */
export const INVITATION_DUE = defineTopic<InvitationDue>('users.invitation_due');

export interface InvitationDue {
  readonly invitation_id: string;
  readonly account_id: string;
  readonly user_id: string;
  readonly address: string;
}

declare module '../../platform/hooks.ts' {
  interface HookTable {
    /**
     * Writes the mail that confirms an address, or returns undefined if it is not wanted any more.
     * Without it such mails are canceled.
     */
    confirmationMail(db: Db, confirmationId: string, publicUrl: string): Promise<MailText | undefined>;
    /** Writes the mail of an invitation, or returns undefined if it cannot be used any more. */
    invitationMail(db: Db, invitationId: string, publicUrl: string): Promise<MailText | undefined>;
    /** Called in the transaction that deletes an inbox. */
    inboxDeleted(tx: Tx, inboxId: string): Promise<void>;
    /** Returns whether a node with this configuration sends mail. Without it none does. */
    sendsMail(config: NodeSettings): boolean;
    /** Returns the digest that waits for a user, or undefined. Without it no digest is mailed. */
    digestOf(db: Db, userId: string): Promise<Digest | undefined>;
    /**
     * Reads a mail for the model of a run that it started. Without it the run gets the mail's id.
     */
    mailContent(db: Db, id: string): Promise<MailContent | undefined>;
    /**
     * Returns what the bodies of messages leave out of their mails (quotes, signatures), by the ids
     * of the messages. Those that leave out nothing, or have no mail, are absent.
     */
    omittedTexts(db: Db, messageIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
    /**
     * Returns those of these messages of customers that came as automatic mail: they start no agent
     * and cause no notification. Without it there are none.
     */
    automaticMails(db: Db, messageIds: readonly string[]): Promise<ReadonlySet<string>>;
  }
}

/** A mail without its addresses. */
export interface MailText {
  /** A single line. */
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** A mail about unseen notifications that waits for its transport. */
interface Digest {
  readonly id: string;
  /** Returns undefined if nothing in it is unseen. */
  write(): Promise<MailText | undefined>;
  /** Removes from the digest what its mail contained. */
  settle(tx: Tx): Promise<void>;
}

interface MailContent {
  readonly from_name: string | null;
  readonly from_address: string | null;
  readonly subject: string | null;
  readonly verdict: EmailVerdict | null;
  /** The whole text, quotes and signature included. */
  readonly body_text: string | null;
}
