import { createHash } from 'node:crypto';
import { MESSAGE_LIMITS } from '@parley/protocol/resources/chat-message.ts';
import { REACTION_LIMITS } from '@parley/protocol/resources/reaction.ts';
import type { ArchivedFile, ArchivedPin, ArchivedReaction, Counted, MessageRecord } from '../record.ts';

/** Takes what is skipped or changed. */
export interface Remarks {
  skip(of: Counted, reason: string, detail: string, where: string): void;
  note(reason: string, detail: string, where: string): void;
}

/**
 * A message as its source has it, of any size; `reactions` have emojis in the form of `toEmoji`.
 */
export interface MessageDraft {
  readonly id: string;
  readonly counted?: false;
  readonly conversation: string;
  readonly author: string;
  readonly created_at: string;
  readonly body: string | null;
  readonly reply_to: string | null;
  readonly edited_at: string | null;
  readonly deleted_at?: string | null;
  readonly mentions: readonly string[];
  readonly reactions: readonly ArchivedReaction[];
  readonly files: readonly ArchivedFile[];
  readonly pin: ArchivedPin | null;
  readonly audience?: 'internal' | 'customer';
  readonly system: boolean;
  readonly incomplete?: MessageRecord['incomplete'];
  readonly where: string;
}

/**
 * Returns the message as one record, or as several where its body or its files are more than one
 * message of Parley takes. Skips, in `remarks`, reactions beyond the limit.
 */
export function messageParts(draft: MessageDraft, remarks: Remarks): MessageRecord[] {
  const {
    id,
    counted = true,
    deleted_at = null,
    audience = 'internal',
    incomplete = null,
    body,
    files,
    mentions,
    reactions,
    where,
    ...same
  } = draft;
  const bodies = body === null ? [] : splitBody(body, MESSAGE_LIMITS.bodyCharacters);
  const groups: ArchivedFile[][] = [];
  for (let from = 0; from < files.length; from += MESSAGE_LIMITS.attachments) {
    groups.push(files.slice(from, from + MESSAGE_LIMITS.attachments));
  }
  const first: MessageRecord = {
    type: 'message',
    client_message_id: shortId(id),
    counted,
    ...same,
    deleted_at,
    audience,
    incomplete,
    body: bodies[0] ?? null,
    mentions: mentioned(mentions, remarks, where),
    reactions: acceptable(reactions, remarks, where),
    files: groups[0] ?? [],
    where,
  };
  const parts = Math.max(bodies.length, groups.length);
  if (parts <= 1) return [first];
  remarks.note('split', `A message is longer than one of Parley: it became ${parts} messages.`, where);
  return Array.from(
    { length: parts },
    (_, at): MessageRecord =>
      at === 0
        ? first
        : {
            ...first,
            client_message_id: shortId(`${id}#${at + 1}`),
            counted: false,
            body: bodies[at] ?? null,
            mentions: [],
            reactions: [],
            files: groups[at] ?? [],
            pin: null,
          },
  );
}

/** Returns the id, or its hash if it is longer than ids of clients may be. */
function shortId(id: string): string {
  if (id.length <= MESSAGE_LIMITS.clientMessageIdCharacters) return id;
  const source = id.slice(0, id.indexOf(':'));
  return `${source}:sha256:${createHash('sha256').update(id).digest('hex')}`;
}

/**
 * Returns pieces of at most `length` UTF-16 units, cut after a line or a word where there is one.
 */
function splitBody(body: string, length: number): string[] {
  const clean = body.replaceAll('\0', '\uFFFD').toWellFormed();
  const pieces: string[] = [];
  let from = 0;
  while (clean.length - from > length) {
    const piece = clean.slice(from, from + length);
    const end = [piece.lastIndexOf('\n'), piece.lastIndexOf(' ')].find((at) => at > length / 2);
    let cut = end === undefined ? length : end + 1;
    // A surrogate pair stays together.
    if (/[\uD800-\uDBFF]/.test(clean[from + cut - 1]!)) cut -= 1;
    pieces.push(clean.slice(from, from + cut));
    from += cut;
  }
  if (clean.length > from) pieces.push(clean.slice(from));
  return pieces.filter((piece) => piece.trim() !== '');
}

function mentioned(mentions: readonly string[], remarks: Remarks, where: string): readonly string[] {
  if (mentions.length === 0) return mentions;
  const once = [...new Set(mentions)];
  if (once.length <= MESSAGE_LIMITS.mentions) return once;
  remarks.note(
    'many_mentions',
    `Of ${once.length} mentions the first ${MESSAGE_LIMITS.mentions} were kept.`,
    where,
  );
  return once.slice(0, MESSAGE_LIMITS.mentions);
}

function acceptable(
  reactions: readonly ArchivedReaction[],
  remarks: Remarks,
  where: string,
): readonly ArchivedReaction[] {
  if (reactions.length === 0) return reactions;
  const emojis = new Set<string>();
  const seen = new Set<string>();
  return reactions.filter(({ emoji, person }) => {
    if (!emojis.has(emoji) && emojis.size >= REACTION_LIMITS.kinds) {
      const detail = `A message has at most ${REACTION_LIMITS.kinds} different emojis; ${emoji} is one more.`;
      remarks.skip('reactions', 'many_emojis', detail, where);
      return false;
    }
    const key = `${emoji} ${person}`;
    if (seen.has(key)) {
      remarks.skip('reactions', 'duplicate', `${person} reacted with ${emoji} twice.`, where);
      return false;
    }
    emojis.add(emoji);
    seen.add(key);
    return true;
  });
}
