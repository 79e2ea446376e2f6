import { PREVIEW_CHARACTERS } from '../../contract/protocol/resources/notification.ts';

/** Returns the first characters, counted as code points, so that no surrogate pair is split. */
export function preview(body: string): string {
  if (body.length <= PREVIEW_CHARACTERS) return body;
  return [...body.slice(0, 2 * PREVIEW_CHARACTERS)].slice(0, PREVIEW_CHARACTERS).join('');
}
