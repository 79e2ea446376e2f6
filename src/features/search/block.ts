import { type Lexemes, quoted } from './lexemes.ts';
import { wordsOf } from './words.ts';

/** A row of a timeline, as far as its words are concerned. */
export interface IndexedText {
  readonly sequence: number;
  /** Null where the row has no words for a search: a void, a deleted message, a system event. */
  readonly texts: readonly (string | null)[] | null;
  /** When it was sent. */
  readonly at: string;
  readonly authorId: string | null;
  readonly senderId: string | null;
  readonly hasFile: boolean;
}

/** A row of search_blocks. */
export interface Block {
  readonly conversationId: string;
  readonly first: number;
  readonly last: number;
  readonly accountId: string;
  readonly messages: number;
  readonly fromAt: string;
  readonly toAt: string;
  readonly missing: readonly number[];
  /** The text form of a tsvector. */
  readonly terms: string;
}

/** Messages of a full block. */
export const BLOCK_MESSAGES = 16;

/** A conversation whose messages are cut into blocks. */
interface Subject {
  readonly conversationId: string;
  readonly accountId: string;
  readonly lexemes: Lexemes;
}

/**
 * Cuts the rows of a range into blocks, each when it is asked for: those from `first` on, in order,
 * without gaps between the blocks. A block has few words and covers few days, so that one that may
 * have a match is read quickly, and its age says much about its messages.
 */
export function* blocksOf(
  subject: Subject,
  first: number,
  last: number,
  rows: readonly IndexedText[],
): Iterable<Block> {
  let draft = new Draft(subject, first);
  for (const row of rows) {
    if (!draft.hasRoomFor(row)) {
      yield draft.end(row.sequence - 1);
      draft = new Draft(subject, row.sequence);
    }
    draft.add(row);
  }
  yield draft.end(last);
}

/** Returns the row that finds a conversation by its title and its members. */
export function headOf(
  { conversationId, accountId, lexemes }: Subject,
  texts: readonly string[],
  createdAt: string,
): Block {
  const terms = new Set<string>([lexemes.conversation(conversationId)]);
  for (const text of texts) for (const word of wordsOf(text, 'document')) terms.add(lexemes.name(word.text));
  return {
    ...{ conversationId, accountId, first: 0, last: 0, messages: 0 },
    ...{ fromAt: createdAt, toAt: createdAt, missing: [], terms: textOf(terms) },
  };
}

class Draft {
  readonly #subject: Subject;
  readonly #first: number;
  readonly #terms = new Set<string>();
  readonly #missing: number[] = [];
  #last: number;
  #messages = 0;
  #characters = 0;
  #fromAt: string | undefined;
  #toAt: string | undefined;

  constructor(subject: Subject, first: number) {
    this.#subject = subject;
    this.#first = first;
    this.#last = first - 1;
  }

  hasRoomFor({ at, texts }: IndexedText): boolean {
    if (this.#last < this.#first) return true;
    const characters = (texts ?? []).reduce((sum, text) => sum + (text?.length ?? 0), 0);
    return (
      this.#last - this.#first + 1 < BLOCK_MESSAGES &&
      this.#characters + characters <= MAX_CHARACTERS &&
      Math.abs(Date.parse(at) - Date.parse(this.#fromAt ?? at)) <= MAX_SPAN_MS
    );
  }

  add({ sequence, texts, at, authorId, senderId, hasFile }: IndexedText): void {
    this.#miss(sequence - 1);
    this.#last = sequence;
    if (this.#fromAt === undefined || at < this.#fromAt) this.#fromAt = at;
    if (this.#toAt === undefined || at > this.#toAt) this.#toAt = at;
    if (texts === null) return;
    const { lexemes } = this.#subject;
    this.#messages++;
    for (const text of texts) {
      if (text === null) continue;
      this.#characters += text.length;
      for (const word of wordsOf(text, 'document')) this.#terms.add(lexemes.word(word.text));
    }
    if (authorId !== null) this.#terms.add(lexemes.author(authorId));
    if (senderId !== null) this.#terms.add(lexemes.author(senderId));
    if (hasFile) this.#terms.add(lexemes.file);
  }

  end(last: number): Block {
    this.#miss(last);
    const { conversationId, accountId, lexemes } = this.#subject;
    if (this.#messages > 0) this.#terms.add(lexemes.conversation(conversationId));
    return {
      ...{ conversationId, accountId, first: this.#first, last, messages: this.#messages },
      ...{ fromAt: this.#fromAt ?? NEVER, toAt: this.#toAt ?? NEVER },
      ...{ missing: this.#missing, terms: textOf(this.#terms) },
    };
  }

  #miss(through: number): void {
    for (let sequence = this.#last + 1; sequence <= through; sequence++) this.#missing.push(sequence);
  }
}

function textOf(terms: Iterable<string>): string {
  return Array.from(terms, quoted).join(' ');
}

/** Characters of all texts of a block: a tsvector has room for 1 MiB. */
const MAX_CHARACTERS = 60_000;
const MAX_SPAN_MS = 86_400_000;
/** Of a block without a row: no search looks there. */
const NEVER = '1970-01-01T00:00:00Z';

/**
 * Returns how many of the last blocks a new one takes in, given how many messages they have, the
 * newest first: four small blocks become one, and four of those a full one, so that a message is
 * written three times at most and most messages of a slow conversation are in full blocks.
 */
export function absorbed(sizes: readonly number[], fresh: number): number {
  let taken = 0;
  let messages = fresh;
  for (;;) {
    const level = levelOf(messages);
    if (level === FULL) return taken;
    let count = 0;
    let sum = 0;
    for (const size of sizes.slice(taken)) {
      if (levelOf(size) > level) break;
      count++;
      sum += size;
    }
    if (count < TOGETHER - 1) return taken;
    taken += count;
    messages += sum;
  }
}

function levelOf(messages: number): number {
  if (messages < TOGETHER) return 0;
  return messages < WORTHWHILE ? 1 : FULL;
}

const TOGETHER = 4;
const FULL = 2;
/**
 * Messages of a block that is left as it is: under load blocks are this large from the start, and
 * writing them twice gains little.
 */
const WORTHWHILE = 8;

/** How many of the last blocks `absorbed` looks at. */
export const TRAILING_BLOCKS = 2 * TOGETHER;
