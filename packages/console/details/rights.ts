import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Me } from '@parley/protocol/resources/me.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';

/** A person's rights in a conversation, by its role in the account and in the conversation. */
export interface Rights {
  /** The person's own membership; undefined where it only looks, as an admin of the account. */
  readonly own: Participant | undefined;
  /** May write, decide and hold. */
  readonly mayWrite: boolean;
  /** May rename, archive, add and remove. */
  readonly mayManage: boolean;
  readonly mayArchive: boolean;
  /** May delete, restore, and change roles. */
  readonly mayOwn: boolean;
  readonly mayLeave: boolean;
}

/** Returns what the server permits a person (docs/contract.md, "Participants"). */
export function rightsOf({ actor, role, permissions }: Me, { type, participants }: Conversation): Rights {
  const own = participants?.find(({ actor_id }) => actor_id === actor.id);
  const seesAll = role?.type === 'admin';
  const mayChange = permissions.includes('messaging:update');
  const isWriter = own === undefined ? seesAll : own.role !== 'viewer';
  const isOwner = seesAll || own?.role === 'owner';
  const isDirect = type === 'direct_message';
  const mayWrite = mayChange && isWriter;
  const mayManage = mayWrite && (isOwner || own?.role === 'admin');
  return {
    own,
    mayWrite,
    mayManage,
    mayArchive: isDirect ? mayWrite : mayManage,
    mayOwn: mayWrite && isOwner,
    mayLeave: own !== undefined && type === 'group' && !isLastOwner(own, participants ?? []),
  };
}

/** Returns whether this is the only owner beside other people, and therefore has to stay. */
export function isLastOwner(one: Participant, all: readonly Participant[]): boolean {
  const others = all.filter(({ id, type }) => id !== one.id && type === 'user');
  return one.role === 'owner' && others.length > 0 && !others.some(({ role }) => role === 'owner');
}
