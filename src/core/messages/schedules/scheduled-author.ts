import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { Permission } from '@parley/protocol/permissions.ts';
import { directBlocked } from '../../conversations/directory/access.ts';
import { customerBlocked } from '../../resources/actor.ts';
import type { ConversationRow } from '../../resources/conversation.ts';
import type { MessageRow } from '../../resources/message.ts';
import { requireActive } from '../timeline/external-message.ts';
import type { AuthorRow } from './schedule-store.ts';

/**
 * Repeats the checks of a send when a scheduled message is due
 * (docs/contract.md#scheduled-messages). There is no credential at that time, so the author's
 * current rights count (`readAuthors`), undefined if there is no such actor. Returns the error of
 * the refused send, or undefined. `conversation` is locked. Participants that the message mentions
 * or replies to may have left meanwhile, which does not stop it.
 */
export function refusalOf(...checked: Parameters<typeof requireAuthor>): ApiError | undefined {
  try {
    requireAuthor(...checked);
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

function requireAuthor(
  author: AuthorRow | undefined,
  message: Pick<MessageRow, 'visibility'>,
  conversation: Pick<ConversationRow, 'status' | 'deleted_at' | 'is_blocked'>,
): void {
  if (author === undefined || author.has_left) {
    throw new ApiError('invalid_credentials', 'The author was deactivated, or its key is no longer valid.');
  }
  if (!author.subscribed) {
    throw new ApiError('payment_required', "The account's subscription is not active. Renew it to continue.");
  }
  if (!author.customer) {
    requireGranted(author, 'messaging:create');
    const isReply = message.visibility === 'external';
    if (isReply && author.type === 'agent') requireGranted(author, 'messaging:send_external');
  }
  if (author.participant_role === null && !author.admin && author.type !== 'api_key') {
    throw new ApiError('resource_not_found', 'The author is no longer a participant of the conversation.');
  }
  if (author.participant_role === 'viewer') {
    throw new ApiError('insufficient_permissions', 'Viewers of a conversation cannot send to it.');
  }
  if (author.blocked) throw customerBlocked();
  if (conversation.is_blocked) throw directBlocked();
  requireActive(conversation);
}

function requireGranted({ admin, permissions }: AuthorRow, permission: Permission): void {
  if (admin || permissions.includes(permission)) return;
  throw new ApiError('insufficient_permissions', `The author's role no longer grants ${permission}.`);
}
