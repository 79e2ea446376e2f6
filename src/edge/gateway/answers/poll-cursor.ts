import { nanoid } from 'nanoid';
import { BEHIND } from '../changes/cursors.ts';
import { Delivered } from './delivered.ts';

/** The content of a poll's cursor. */
export interface PollCursor {
  /** A cursor of a socket (changes/cursors.ts), which sockets and streams resume from. */
  readonly base: string | undefined;
  /** Names the client among its actor's clients, from its first poll on. */
  readonly pollId: string;
  readonly delivered: Delivered;
}

/** Reads a cursor of any kind. Without a cursor, a client begins to poll. */
export function readPollCursor(cursor: string | undefined): PollCursor {
  const [, base = cursor, pollId = nanoid(ID_CHARACTERS), delivered] = FORM.exec(cursor ?? '') ?? [];
  return { base, pollId, delivered: new Delivered(delivered) };
}

export function writePollCursor(base: string, { pollId, delivered }: PollCursor, isWhole: boolean): string {
  return `${base.split(BEHIND, 1)[0]}${BEHIND}${pollId}${delivered.toText(isWhole)}`;
}

const ID_CHARACTERS = 8;
const FORM = new RegExp(`^([^${BEHIND}]+)${BEHIND}([\\w-]{${ID_CHARACTERS}})([\\w-]*)$`);
