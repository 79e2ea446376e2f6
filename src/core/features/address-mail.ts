import { defineTopic } from '../../platform/db/queue/topic.ts';

/**
 * An address waits for the mail that confirms it. The feature that sends mail makes the mail, whose
 * text the feature that knows the confirmation writes at each try (`confirmationMail` of a face).
 */
export const CONFIRMATION_DUE = defineTopic<ConfirmationDue>('addresses.confirmation_due');

export interface ConfirmationDue {
  readonly confirmation_id: string;
  readonly account_id: string;
  readonly address: string;
}
