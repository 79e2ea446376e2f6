import { createHash } from 'node:crypto';

/**
 * Returns the id of a message that may share its id. A second message with other content has a hash
 * of the content in its id, so that every walk gives the same ids. Returns undefined for a copy.
 * `copies` has the contents by id, of all messages that may share one.
 */
export function idOfCopy(copies: Map<string, string[]>, id: string, content: string): string | undefined {
  const contents = copies.get(id);
  if (contents === undefined) {
    copies.set(id, [content]);
    return id;
  }
  if (contents.includes(content)) return undefined;
  contents.push(content);
  return `${id}:${createHash('sha256').update(content).digest('hex').slice(0, 12)}`;
}
