import type { Tx } from '../db/handle.ts';
import { statement } from '../db/statement.ts';
import { ApiError } from '../protocol/errors.ts';
import type { Permission } from '../protocol/permissions.ts';
import type { ActorType } from '../protocol/resources/actor.ts';
import type { Participant } from '../protocol/resources/participant.ts';
import type { ConversationRow } from '../resources/conversation.ts';
import type { MessageRow } from '../resources/message.ts';
import { requireActive } from './external-message.ts';

/**
 * Repeats the checks of a send when a scheduled message is due (docs/contract.md#scheduled-messages). There is no
 * credential at that time, so the author's current rights are read from Postgres. Throws the error that the send would
 * be refused with. `conversation` is locked. Participants that the message mentions or replies to may have left
 * meanwhile: that does not stop it.
 */
export async function requireAuthor(
  tx: Tx,
  message: Pick<MessageRow, 'author_id' | 'visibility'>,
  conversation: Pick<ConversationRow, 'id' | 'status'>,
): Promise<{ readonly customer: boolean }> {
  const [author] = await tx.query(READ_AUTHOR, message.author_id, conversation.id);
  if (author === undefined || author.has_left) {
    throw new ApiError('invalid_credentials', 'The author was deactivated, or its key is no longer valid.');
  }
  if (!author.subscribed) {
    throw new ApiError('payment_required', "The account's subscription is not active.");
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
  requireActive(conversation);
  return author;
}

interface AuthorRow {
  readonly type: ActorType;
  readonly customer: boolean;
  /** The actor was deactivated; an API key has no valid secret left. */
  readonly has_left: boolean;
  readonly subscribed: boolean;
  readonly admin: boolean;
  readonly permissions: readonly string[];
  /** Null: not an active participant. */
  readonly participant_role: Participant['role'] | null;
}

function requireGranted({ admin, permissions }: AuthorRow, permission: Permission): void {
  if (admin || permissions.includes(permission)) return;
  throw new ApiError('insufficient_permissions', `The author's role no longer grants ${permission}.`);
}

const READ_AUTHOR = statement<[authorId: string | null, conversationId: string], AuthorRow>({
  name: 'read-scheduled-author',
  text: `
    SELECT a.type, a.customer, c.subscription = 'active' AS subscribed,
      coalesce(r.type = 'admin', false) AS admin, coalesce(r.permissions, '{}') AS permissions,
      p.role AS participant_role,
      a.deactivated_at IS NOT NULL OR a.type = 'api_key' AND NOT EXISTS (
        SELECT FROM api_keys k WHERE k.account_id = a.account_id AND k.actor_id = a.id AND k.revoked_at IS NULL
          AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
      ) AS has_left
    FROM actors a
    JOIN accounts c ON c.id = a.account_id
    LEFT JOIN roles r ON r.id = a.role_id
    LEFT JOIN participants p ON p.actor_id = a.id AND p.conversation_id = $2
      AND p.membership IN ('active', 'hidden')
    WHERE a.id = $1`,
});
