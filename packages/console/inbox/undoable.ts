import type { Client } from '@parley/client';
import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation, WorkflowStatus } from '@parley/protocol/resources/conversation.ts';
import { MOVES_BY_HAND } from '@parley/protocol/states/workflow.ts';
import { notify, notifyFailure } from '@parley/ui/feedback/notify.ts';
import { currentPlace, go } from '../nav/place.ts';
import { texts } from '../texts/texts.ts';
import { whenText } from '../writing/send-times.ts';
import { neighbourOf } from './listed.ts';

/** Lanes to which a person can move a case. */
export type LaneByHand = keyof typeof MOVES_BY_HAND;

export const LANES_BY_HAND = Object.keys(MOVES_BY_HAND) as readonly LaneByHand[];

/** An act on a conversation: what it does, how that is said, and how it is taken back. */
interface Undoable {
  readonly id: string;
  readonly act: () => Promise<unknown>;
  readonly undo: () => Promise<unknown>;
  /** Returns the sentence that says what was done. */
  readonly says: () => string | Promise<string>;
  /** Whether the conversation leaves the list, so that the next one is opened in its place. */
  readonly leaves: boolean;
}

/** Moves a case to a lane. A resolved case counts as read, and gives way to the next one. */
export async function moveCase(client: Client, one: Conversation, to: LaneByHand): Promise<void> {
  const { id, unread, last_message: last, workflow_status: from } = one;
  const { conversations } = client;
  const isEnd = to === 'resolved';
  if (from === 'needs_approval') return notifyFailure(new Error(texts.inbox.draftWaits));
  await undoable({
    id,
    act: async () => {
      if (isEnd && unread > 0 && last?.sequence) await conversations.markRead(id, last.sequence);
      await conversations.moveTo(id, to);
    },
    undo: () => conversations.moveTo(id, isByHand(from) ? from : 'open'),
    says: async () => (isEnd ? resolvedText(await scheduledIn(client, id)) : texts.inbox.moved[to]),
    leaves: isEnd,
  });
}

/** Archives a conversation, which gives way to the next one. */
export function archive({ conversations }: Client, { id }: Conversation): Promise<void> {
  return undoable({
    id,
    act: () => conversations.archive(id),
    undo: () => conversations.unarchive(id),
    says: () => texts.inbox.isArchived,
    leaves: true,
  });
}

/** Snoozes a conversation; null: until the next message. */
export function snoozeUntil(
  { conversations }: Client,
  { id }: Conversation,
  until: Date | null,
): Promise<void> {
  return undoable({
    id,
    act: () => conversations.snooze(id, until ?? undefined),
    undo: () => conversations.unsnooze(id),
    says: () => `${snoozedText(until)}.`,
    leaves: false,
  });
}

/** Says until when a conversation is snoozed. */
export function snoozedText(until: Date | null): string {
  return until === null ? texts.inbox.snoozedUntilNext : texts.inbox.snoozedUntil(whenText(until));
}

async function undoable({ id, act, undo, says, leaves }: Undoable): Promise<void> {
  const next = neighbourOf(id);
  const wasOpen = isOpen(id);
  try {
    await act();
    if (leaves && wasOpen && isOpen(id)) {
      go({ main: next === null ? { at: 'home' } : { at: 'conversation', id: next } });
    }
    const back = async () => {
      await undo();
      if (leaves && wasOpen) go({ main: { at: 'conversation', id } });
    };
    notify(await says(), { label: texts.inbox.undo, act: () => void back().catch(notifyFailure) });
  } catch (error) {
    notifyFailure(error);
  }
}

function isOpen(id: string): boolean {
  const { main } = currentPlace();
  return main.at === 'conversation' && main.id === id;
}

function isByHand(lane: WorkflowStatus | null): lane is LaneByHand {
  return lane !== null && lane in MOVES_BY_HAND;
}

/** Returns how many messages will still be sent in a conversation. */
async function scheduledIn(client: Client, id: string): Promise<number> {
  const query = 'status=scheduled&limit=100';
  const { data } = await client.fetch<List<ChatMessage>>(
    `/v1/messaging/conversations/${id}/messages?${query}`,
  );
  return data.length;
}

function resolvedText(scheduled: number): string {
  const { isResolved, stillSent } = texts.inbox;
  return scheduled === 0 ? isResolved : `${isResolved} ${stillSent(scheduled)}`;
}
