import { oneLine } from '@parley/protocol/schema/one-line.ts';
import type {
  ArchiveRecord,
  ConversationRecord,
  Counted,
  Counts,
  PersonRecord,
  ReadPositionRecord,
} from '../record.ts';
import { COUNTED, countsOf, noCounts } from '../record.ts';
import { type MessageDraft, messageParts } from './message-parts.ts';

/**
 * One walk through an archive: collects records until `take`, and counts the met, given and skipped
 * things. Everything that readers learn about ids is in here and ends with the walk.
 */
export class Walk {
  #records: ArchiveRecord[] = [];
  readonly #met = noCounts();
  readonly #given = noCounts();
  readonly #skipped = noCounts();
  /** Refs of people that have come. */
  readonly #people = new Set<string>();
  /** Hints of records about people that are not described. */
  readonly #hints = new Map<string, { name: string; kind?: 'bot' }>();
  progress = { done: 0, total: 0 };

  found(): Counts {
    return { ...this.#met };
  }

  /** Whether the records are enough for `take`, in the middle of a large document. */
  get isFull(): boolean {
    return this.#records.length >= MOST_RECORDS;
  }

  /** Returns the records since the last call. */
  take(): ArchiveRecord[] {
    const records = this.#records;
    this.#records = [];
    return records;
  }

  /** Counts what the archive has; each piece must be given in a record or skipped. */
  meet(of: Counted, count = 1): void {
    this.#met[of] += count;
  }

  skip(of: Counted, reason: string, detail: string, where: string, count = 1): void {
    if (count === 0) return;
    this.#skipped[of] += count;
    this.#records.push({
      type: 'skipped',
      of,
      count,
      reason,
      detail: oneLine(detail),
      where: oneLine(where),
    });
  }

  note(reason: string, detail: string, where: string): void {
    this.#records.push({ type: 'note', reason, detail: oneLine(detail), where: oneLine(where) });
  }

  /** Counts a document that was read; an unreadable one is skipped instead. */
  readDocument(): void {
    this.#given.documents += 1;
  }

  person(person: Omit<PersonRecord, 'type'>): void {
    this.#people.add(person.ref);
    const handle = person.handle === null ? null : nameOf(person.handle, person.ref);
    this.#give({ type: 'person', ...person, handle });
  }

  hint(ref: string, name: string | null, kind?: 'bot'): void {
    if (name !== null && !this.#people.has(ref) && !this.#hints.has(ref)) {
      this.#hints.set(ref, kind ? { name, kind } : { name });
    }
  }

  /** Makes sure that the person has come, as a placeholder if the archive does not describe it. */
  refer(ref: string): string {
    if (this.#people.has(ref)) return ref;
    this.#people.add(ref);
    const hint = this.#hints.get(ref);
    this.#records.push({
      type: 'person',
      ref,
      kind: 'placeholder',
      name: nameOf(hint?.name, ref),
      handle: null,
      email: null,
      email_verified: false,
      deactivated: true,
    });
    return ref;
  }

  knows(ref: string): boolean {
    return this.#people.has(ref);
  }

  conversation(conversation: Omit<ConversationRecord, 'type'>): void {
    if (conversation.creator !== null) this.refer(conversation.creator);
    for (const { person } of conversation.members) this.refer(person);
    const description = conversation.description?.replaceAll('\0', '\uFFFD').toWellFormed() ?? null;
    this.#give({ type: 'conversation', ...conversation, description });
  }

  readPosition(position: Omit<ReadPositionRecord, 'type'>): void {
    this.refer(position.person);
    this.#give({ type: 'read_position', ...position });
  }

  /**
   * Gives a message, in several parts where it is too large, and skips what Parley does not take.
   */
  message(whole: MessageDraft): void {
    const draft = whole.deleted_at ? this.#tombstone(whole) : whole;
    this.refer(draft.author);
    if (draft.pin?.by) this.refer(draft.pin.by);
    for (const person of draft.mentions) this.refer(person);
    for (const { person } of draft.reactions) this.refer(person);
    for (const record of messageParts(draft, this)) this.#give(record);
  }

  /** Returns the tombstone of a message, and skips all else. */
  #tombstone(draft: MessageDraft): MessageDraft {
    const { reactions, files, pin, where } = draft;
    const skip = (of: Counted, count: number) =>
      this.skip(of, 'message_deleted', 'Its message was deleted.', where, count);
    skip('reactions', reactions.length);
    skip('files', files.length);
    skip('pins', pin === null ? 0 : 1);
    return { ...draft, body: null, mentions: [], reactions: [], files: [], pin: null };
  }

  #give(record: ArchiveRecord): void {
    for (const [of, count] of Object.entries(countsOf(record))) this.#given[of as Counted] += count;
    this.#records.push(record);
  }

  /** Throws if something that was met was neither given nor skipped: a mistake of the reader. */
  finish(): void {
    for (const of of COUNTED) {
      const [met, given, skipped] = [this.#met[of], this.#given[of], this.#skipped[of]];
      if (met !== given + skipped) {
        throw new Error(`${met} ${of} were found, ${given} given and ${skipped} skipped`);
      }
    }
  }
}

/** Returns a name of one line and 1 to 200 characters, or else `otherwise`. */
export function nameOf(name: string | null | undefined, otherwise: string): string {
  return (
    oneLine(name ?? '')
      .slice(0, NAME_LENGTH)
      .toWellFormed() ||
    oneLine(otherwise) ||
    '?'
  );
}

const NAME_LENGTH = 200;
const MOST_RECORDS = 500;
