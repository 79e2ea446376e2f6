import type { TimelineMessage } from '@parley/client';
import { authorIdOf } from '@parley/client/timeline/author.ts';

/** The look of a message, by its audience and its author. */
export type MessageLook =
  /** In a conversation of the team alone. */
  | 'plain'
  /** Of the team, hidden from the customer of the case. */
  | 'note'
  /** Of the team to the customer of the case. */
  | 'reply'
  /** Of the customer of the case. */
  | 'customer'
  /** Of the service. */
  | 'service';

/** Returns a message's look. `customerIds` are the customers of a case; null without a customer. */
export function lookOf(message: TimelineMessage, customerIds: ReadonlySet<string> | null): MessageLook {
  if (message.id !== null && SERVICE.has(message.kind)) return 'service';
  if (customerIds === null) return 'plain';
  const authorId = authorIdOf(message);
  if (authorId !== null && customerIds.has(authorId)) return 'customer';
  const isExternal =
    message.id === null ? message.request.audience === 'customer' : message.visibility === 'external';
  if (!isExternal) return 'note';
  return message.id !== null && message.kind === 'email' ? 'customer' : 'reply';
}

const SERVICE: ReadonlySet<string> = new Set(['system_event', 'alert']);
