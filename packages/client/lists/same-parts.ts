import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';

/**
 * Returns `next` with the parts of `known` that are equal to its own, or `known` itself if all are:
 * pages compare references.
 */
export function withSameParts<T extends object>(known: T, next: T): T {
  const result = { ...next };
  let isKnown = true;
  for (const name of Object.keys({ ...known, ...next }) as (keyof T)[]) {
    if (isEqual(known[name], next[name])) result[name] = known[name];
    else isKnown = false;
  }
  return isKnown ? known : result;
}

/**
 * Returns the attachments of a message that is known already. Answers to a send have no resources
 * of attachments, unlike events and reads, so those that are known stay.
 */
export function withKnownResources(
  known: ChatMessage['attachments'],
  next: ChatMessage['attachments'],
): ChatMessage['attachments'] {
  if (!next || !known) return next ?? known;
  return next.map((one) => {
    const resource = one.resource ?? known.find(({ id }) => id === one.id)?.resource;
    return resource ? { ...one, resource } : one;
  });
}

/** Returns `known` if both lists have the same items, otherwise `next`. */
export function sameList<T>(known: readonly T[], next: readonly T[]): readonly T[] {
  return known.length === next.length && known.every((item, index) => item === next[index]) ? known : next;
}

/** The values come from JSON, the server's fields in one order. */
function isEqual(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
