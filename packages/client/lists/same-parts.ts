import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';

/**
 * Returns `next` with the equal parts of `known`, or `known` itself if all parts are equal: pages
 * compare references.
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
 * Returns the attachments of a known message. Unlike events and reads, answers to a send lack the
 * resources of attachments, so the known resources stay.
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

/** Compares JSON values, whose fields have the server's order. */
function isEqual(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
