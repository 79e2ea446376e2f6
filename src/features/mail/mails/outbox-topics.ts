/** One file, since both the mail that is accepted and the face of the feature name the topic. */

import { defineTopic } from '../../../platform/db/queue/topic.ts';

/** A mail became a message of a customer: `email.received` starts agents and goes to webhooks. */
export const EMAIL_RECEIVED = defineTopic<EmailReceived>('mail.received');

export interface EmailReceived {
  readonly mail_id: string;
}
