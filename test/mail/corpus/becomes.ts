import type { EmailPurpose, EmailStatus } from '../../../src/protocol/resources/email.ts';

/**
 * The second column of the corpus: what becomes of a mail in an account where Cleo has a case, whose last mail to her is
 * `our-mail@harbor.example`.
 */
export interface Becomes {
  readonly status: EmailStatus;
  readonly purpose: EmailPurpose;
  readonly reason: string | null;
  /** Whether it belongs to the case of Cleo, begins one, or to none. */
  readonly conversation: 'known' | 'new' | null;
}

/** By name of the mail. */
export const BECOMES: Readonly<Record<string, Becomes>> = {};
