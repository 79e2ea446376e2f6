import type { Client } from '@parley/client';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Choice } from '@parley/ui/choices/choice-line.tsx';
import { failureText } from '@parley/ui/texts/failure-text.ts';
import { assign } from './assign-dialog.tsx';
import { type ActionContext, mayChange, ownParticipant } from './row-actions.ts';

/** An action on several conversations: those to which it applies, and the change of each. */
export interface BulkAction {
  readonly appliesTo: (conversation: Conversation) => boolean;
  readonly change: (conversation: Conversation) => Promise<unknown>;
}

type BulkContext = Pick<ActionContext, 'client' | 'myId' | 'isAdmin' | 'can'>;

/** Returns the actions on several conversations. */
export function bulkActions({ client, ...rights }: BulkContext) {
  const { conversations } = client;
  const context = { client, ...rights } as ActionContext;
  const isOwn = (one: Conversation) => ownParticipant(one, rights.myId) !== undefined;
  const isCase = (one: Conversation) => one.audience === 'customer' && mayChange(one, context);
  const mayArchive = (one: Conversation) => {
    const role = ownParticipant(one, rights.myId)?.role;
    const isManager = rights.isAdmin || role === 'owner' || role === 'admin';
    return mayChange(one, context) && (one.type === 'direct_message' || (one.type === 'group' && isManager));
  };
  return {
    read: {
      appliesTo: (one) => isOwn(one) && one.unread > 0 && one.last_message?.sequence != null,
      change: ({ id, last_message }) => conversations.markRead(id, last_message!.sequence!),
    },
    take: {
      appliesTo: (one) => isCase(one) && one.assignee_id !== rights.myId,
      change: ({ id }) => conversations.assign(id, rights.myId),
    },
    assignTo: (owner: Choice): BulkAction => ({
      appliesTo: isCase,
      change: (one) => assign(client, one, owner),
    }),
    snooze: (until: Date | null): BulkAction => ({
      appliesTo: isOwn,
      change: ({ id }) => conversations.snooze(id, until ?? undefined),
    }),
    moveTo: (lane: Lane): BulkAction => ({
      appliesTo: (one) => isCase(one) && one.workflow_status !== lane,
      change: ({ id }) => conversations.moveTo(id, lane),
    }),
    archive: {
      appliesTo: (one) => mayArchive(one) && one.status !== 'archived',
      change: ({ id }) => conversations.archive(id),
    },
  } as const satisfies Record<string, BulkAction | ((argument: never) => BulkAction)>;
}

export type Lane = Parameters<Client['conversations']['moveTo']>[1];

/** A conversation that an action has failed for. */
export interface BulkFailure {
  readonly conversation: Conversation;
  readonly reason: string;
}

/** Changes conversations, a few at a time. Resolves with those that were not changed. */
export async function actOnAll(
  conversations: readonly Conversation[],
  { change }: BulkAction,
): Promise<readonly BulkFailure[]> {
  const left = [...conversations];
  const failed: BulkFailure[] = [];
  const work = async () => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) {
      try {
        await change(one);
      } catch (error) {
        failed.push({ conversation: one, reason: failureText(error) });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return failed;
}

const AT_ONCE = 4;
