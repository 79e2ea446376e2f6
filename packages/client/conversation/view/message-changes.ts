import type { ChatMessage, EditMessageBody } from '@parley/protocol/resources/chat-message.ts';
import type { MessageReaction } from '@parley/protocol/resources/reaction.ts';

/** The expected results of changes, shown before the server has answered. */

/** Edits a message; the answer adds attachments. */
export function edited<M extends ChatMessage>(message: M, edit: EditMessageBody): M {
  const { attachments: wanted, body, ...fields } = edit;
  const attachments = wanted?.flatMap(({ id }) => message.attachments?.find((one) => one.id === id) ?? []);
  return {
    ...message,
    ...fields,
    ...(body === undefined ? {} : { body: body || null }),
    ...(attachments === undefined ? {} : { attachments }),
    ...(message.status === 'sent' ? { edited_at: new Date().toISOString() } : {}),
  };
}

export function tombstone<M extends ChatMessage>(message: M): M {
  return { ...message, body: null, attachments: [], reactions: [], deleted_at: new Date().toISOString() };
}

/** Adds the reaction of an actor, or takes it back. */
export function reacted<M extends ChatMessage>(
  message: M,
  {
    emoji,
    actorId,
    isThere,
  }: { readonly emoji: string; readonly actorId: string; readonly isThere: boolean },
): M {
  const all = message.reactions ?? [];
  const index = all.findIndex((one) => bare(one.emoji) === bare(emoji));
  const known: MessageReaction = all[index] ?? { emoji, count: 0, actor_ids: [], mine: false };
  if (known.mine === isThere) return message;
  const others = known.actor_ids.filter((id) => id !== actorId);
  const next: MessageReaction = {
    ...known,
    count: known.count + (isThere ? 1 : -1),
    actor_ids: isThere ? [...others, actorId] : others,
    mine: isThere,
  };
  const reactions = index === -1 ? [...all, next] : all.map((one) => (one === known ? next : one));
  return { ...message, reactions: reactions.filter(({ count }) => count > 0) };
}

/** Removes selectors, which differ by keyboard and which the server normalizes. */
function bare(emoji: string): string {
  return emoji.replaceAll(/[\uFE0E\uFE0F]/g, '');
}
