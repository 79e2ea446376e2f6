import { MESSAGE_LIMITS } from '@parley/protocol/resources/chat-message.ts';

/**
 * Returns what the body of a message leaves out of the text of its mail: quotes, the signature, and
 * what is beyond the longest body. Empty if the body is the whole text. If the body is not made of
 * the lines of the text, because it was edited, returns the whole text.
 */
export function omittedText(text: string, body: string): string {
  const kept = body
    .trim()
    .split('\n')
    .map((line) => line.trim());
  const isCut = body.length >= MESSAGE_LIMITS.bodyCharacters;
  const omitted: string[] = [];
  let at = 0;
  for (const line of text.trim().split('\n')) {
    const next = kept[at];
    const isLast = at === kept.length - 1;
    if (next !== undefined && line.trim() === next) at += 1;
    else if (isCut && isLast && next !== undefined && line.trim().startsWith(next)) {
      omitted.push(line.trim().slice(next.length));
      at += 1;
    } else omitted.push(line);
  }
  return (at < kept.length ? text : omitted.join('\n')).trim();
}
