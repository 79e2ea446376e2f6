import type { TimelineMessage } from '@parley/client';
import { authorIdOf } from '@parley/client/timeline/author.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Me } from '@parley/protocol/resources/me.ts';

/** A person's rights in a conversation that concern messages. */
export interface ConversationRights {
  readonly ownId: string;
  /** May send, react, and change the person's own messages. */
  readonly mayWrite: boolean;
  readonly mayReact: boolean;
  /** May delete what others wrote. */
  readonly mayModerate: boolean;
  readonly mayPin: boolean;
  readonly mayForward: boolean;
  /** Has a read position here. */
  readonly isMember: boolean;
}

/** Returns what the server permits a person (docs/contract.md, "Participants" and "Messages"). */
export function conversationRights(
  { actor, role, permissions }: Me,
  { participants, status, blocked }: Pick<Conversation, 'participants' | 'status' | 'blocked'>,
): ConversationRights {
  const own = participants?.find(({ actor_id }) => actor_id === actor.id);
  const seesAll = role?.type === 'admin';
  const isWriter = own === undefined ? seesAll : own.role !== 'viewer';
  const isOpen = status !== 'archived' && !blocked;
  const mayCreate = permissions.includes('messaging:create');
  const isTeam = own?.type !== 'customer';
  return {
    ownId: actor.id,
    mayWrite: isOpen && isWriter && mayCreate,
    mayReact: isOpen && isWriter && permissions.includes('messaging:read'),
    mayModerate: isWriter && (seesAll || own?.role === 'owner' || own?.role === 'admin'),
    mayPin: isOpen && isWriter && mayCreate && isTeam,
    mayForward: mayCreate && isTeam,
    isMember: own !== undefined,
  };
}

/** A person's rights to one message. */
export interface MessageRights {
  readonly react: boolean;
  readonly reply: boolean;
  readonly edit: boolean;
  readonly delete: boolean;
  readonly pin: boolean;
  readonly forward: boolean;
  readonly markUnread: boolean;
}

const NO_RIGHTS: MessageRights = {
  react: false,
  reply: false,
  edit: false,
  delete: false,
  pin: false,
  forward: false,
  markUnread: false,
};

/** Returns the rights to a message. A message that is not sent, or is deleted, permits nothing. */
export function messageRights(message: TimelineMessage, rights: ConversationRights): MessageRights {
  if (message.id === null || message.deleted_at !== null) return NO_RIGHTS;
  const isService = message.kind === 'system_event' || message.kind === 'alert';
  const isFinished = message.streaming_state !== 'streaming';
  const isOwn = !isService && authorIdOf(message) === rights.ownId;
  return {
    react: rights.mayReact,
    reply: rights.mayWrite,
    edit: rights.mayWrite && isOwn && isFinished,
    delete: isFinished && (isOwn ? rights.mayWrite : rights.mayModerate),
    pin: rights.mayPin,
    forward: rights.mayForward && isFinished && !isService,
    markUnread: rights.isMember,
  };
}
