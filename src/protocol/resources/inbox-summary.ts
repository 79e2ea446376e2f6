import { described, Timestamp } from '../schema.ts';
import { Since } from '../since.ts';

/** In which order conversations are listed. */
export const INBOX_ORDERS = ['created', 'activity'] as const;

export const INBOX_FILTERS = ['unread', 'mine', 'unassigned', 'snoozed'] as const;

const AsOf = described(
  Timestamp,
  'The moment that this describes. What was committed later is told by events, or by the next request.',
);

/** Fields that the list of conversations has beside its page. */
export const INBOX_FACTS = { as_of: Since('1.2.harbor-preview.1', AsOf) };
