/**
 * The values by which conversations are told apart and listed, without schemas: pages have them in
 * their first load.
 */

export const CONVERSATION_TYPES = ['direct_message', 'group', 'system'] as const;

export const AUDIENCES = ['internal', 'customer'] as const;

export const WORKFLOW_STATUSES = [
  'new',
  'open',
  'waiting_internal',
  'waiting_external',
  'needs_approval',
  'resolved',
] as const;

export const CONVERSATION_STATUSES = ['active', 'archived', 'hidden'] as const;

/** The orders of lists of conversations. */
export const INBOX_ORDERS = ['created', 'activity', 'waiting'] as const;

export const INBOX_FILTERS = ['unread', 'mine', 'unassigned', 'snoozed', 'open'] as const;
