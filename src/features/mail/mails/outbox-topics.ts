/** A file of its own, because both the incoming mail and the feature's face name the topic. */

import { defineTopic } from '../../../platform/db/queue/topic.ts';

/** A mail became a message of a customer: `email.received` starts agents and goes to webhooks. */
export const EMAIL_RECEIVED = defineTopic<EmailReceived>('mail.received');

export interface EmailReceived {
  readonly mail_id: string;
}
