import type { MailProtection } from '@parley/mail-reader/parsed-mail.ts';
import type {
  EmailDirection,
  EmailPurpose,
  EmailRecipient,
  EmailStatus,
  EmailVerdict,
} from '@parley/protocol/resources/email.ts';
import type { ColumnType, Generated } from 'kysely';
import type { Time, Times } from '../../platform/db/tables/touched.ts';

declare module '../../platform/db/tables/schema.ts' {
  interface Schema extends MailTables {}
}

interface MailTables {
  mails: Times & {
    /** derivedId of its message, digest or confirmation, or of the incoming mail. */
    id: string;
    account_id: string;
    inbox_id: string | null;
    direction: EmailDirection;
    purpose: EmailPurpose;
    conversation_id: string | null;
    message_id: string | null;
    /** The user of a digest, or the customer or team member that wrote an incoming mail. */
    actor_id: string | null;
    /** Message-ID without brackets. */
    rfc_id: string;
    status: EmailStatus;
    /** The reason for this status, as a code. */
    reason: string | null;
    /** Written by a machine. */
    automatic: Generated<boolean>;
    attempts: Generated<number>;
    /** The time of the next try, or the end of the lease of the node that makes it. */
    next_try_at: string | null;
    /** The time of the server that accepted it. */
    sent_at: string | null;
    from_address: string | null;
    from_name: string | null;
    /** The address for answers to an incoming mail, or null if that is `from_address`. */
    reply_to: string | null;
    recipients: ColumnType<readonly EmailRecipient[], string | undefined, string>;
    subject: string | null;
    in_reply_to: string | null;
    /** References, the oldest first. */
    thread_ids: Generated<string[]>;
    verdict: ColumnType<EmailVerdict | null, string | null | undefined, string | null>;
    /** Of incoming mail that was signed or encrypted. */
    protection: MailProtection | null;
    /** The whole text, with what the body of the message leaves out. */
    body_text: string | null;
    /** Sanitized. */
    body_html: string | null;
    /** The key of the original mail in the file store. */
    source_key: string | null;
    size_bytes: number | null;
    /** W3C `traceparent` of the request that caused it. */
    trace: string | null;
    created_at: Time;
  };
  mail_complaints: {
    id: string;
    account_id: string;
    /** In lower case. */
    address: string;
    /** The `Feedback-Type` of the report. */
    kind: string;
    /** The mail that it is about, which may be gone. */
    mail_id: string;
    created_at: Time;
  };
}
