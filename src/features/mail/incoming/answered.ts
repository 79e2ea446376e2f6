import { omittedText } from '@parley/mail-reader/text/omitted-text.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import type { Arrival } from '../transports/intake.ts';
import { readLastReplies } from './incoming-store.ts';

/**
 * Returns whether a mail answers one: it names a mail, or what it quotes repeats a line of the last
 * replies of the inbox to its author, as from clients that name none. Only then quotes and
 * signature are left out of its message (DECISIONS.md#what-is-cut-from-a-mail).
 */
export async function isAnswer(
  db: Db,
  { inbox, mail }: Pick<Arrival, 'inbox' | 'mail'>,
  authorId: string,
): Promise<boolean> {
  if (mail.inReplyTo !== null || mail.references.length > 0) return true;
  const quoted = lettersOf(omittedText(mail.text, mail.visibleText)).slice(0, MAX_LETTERS);
  if (Buffer.byteLength(quoted) < MIN_BYTES) return false;
  const replies = await readLastReplies(db, inbox, authorId, MAX_REPLIES);
  return replies.some((body) => longLinesOf(body).some((line) => quoted.includes(line)));
}

/** Returns the first lines of a reply that hardly anybody else writes, as their letters. */
function longLinesOf(body: string): string[] {
  const lines = body.split('\n').map(lettersOf);
  return lines.filter((line) => Buffer.byteLength(line) >= MIN_BYTES).slice(0, MAX_LINES);
}

/** Returns letters and digits alone: quoting wraps lines, and adds marks and blanks. */
function lettersOf(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '');
}

const MAX_REPLIES = 20;
const MAX_LINES = 20;
/** Letters of the quote that are compared. A quote begins with the mail that is answered. */
const MAX_LETTERS = 20_000;
/** Three words of a European language, or five characters of Chinese. */
const MIN_BYTES = 16;
