/** A person or an agent whose name stands in a text after an `@`. */
export interface Mention {
  readonly id: string;
  readonly name: string;
  readonly type: 'user' | 'agent';
}

/**
 * What a person has written and not sent, by conversation or thread. It is in `localStorage`, so
 * that it also survives a closed tab and a browser that ends by itself: what is lost with it is
 * work. Signing out removes it, as the messages that wait to be sent.
 */
export interface Writing {
  readonly text: string;
  /** The people that were chosen from the list; those whose names are still in the text count. */
  readonly mentions: readonly Mention[];
  /** For whom the person writes, in a case. Kept when the text is sent. */
  readonly audience: Audience;
  /** Subject and copies of a mail as the person has changed them. */
  readonly subject?: string;
  readonly cc?: string;
}

/** `internal`: a note to the team. `customer`: a reply. */
export type Audience = 'internal' | 'customer';

/** Nothing goes to a customer before the person has chosen so. */
export const NOTHING_WRITTEN: Writing = { text: '', mentions: [], audience: 'internal' };

/** Whose writing it is. Persons who share a browser share nothing. */
export interface Writer {
  readonly account: string;
  readonly actor: string;
}

/** The part of `Storage` that is used. */
export interface WritingStorage {
  readonly length: number;
  key(index: number): string | null;
  getItem(name: string): string | null;
  setItem(name: string, value: string): void;
  removeItem(name: string): void;
}

/** What one person has written, by the id of the conversation or of the message replied to. */
export class KeptWriting {
  readonly #storage: WritingStorage | null;
  readonly #prefix: string;

  constructor({ account, actor }: Writer, storage = ownStorage()) {
    this.#storage = storage;
    this.#prefix = `parley-writing ${account} ${actor} `;
  }

  get(place: string): Writing {
    try {
      const found = JSON.parse(this.#storage?.getItem(this.#prefix + place) ?? 'null');
      return isWriting(found) ? { ...NOTHING_WRITTEN, ...found } : NOTHING_WRITTEN;
    } catch {
      return NOTHING_WRITTEN;
    }
  }

  /** Does nothing where the browser keeps nothing, or has no space. */
  set(place: string, writing: Writing): void {
    const name = this.#prefix + place;
    try {
      if (isEmpty(writing)) this.#storage?.removeItem(name);
      else this.#storage?.setItem(name, JSON.stringify(writing));
    } catch {
      // What is shown stays shown.
    }
  }

  /** Removes everything of the person. */
  clear(): void {
    const storage = this.#storage;
    if (storage === null) return;
    const names = Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? '');
    for (const name of names) if (name.startsWith(this.#prefix)) storage.removeItem(name);
  }
}

function ownStorage(): WritingStorage | null {
  try {
    return localStorage;
  } catch {
    return null;
  }
}

function isEmpty({ text, audience, subject, cc }: Writing): boolean {
  return text === '' && audience === 'internal' && subject === undefined && cc === undefined;
}

/** The storage is shared with other versions of the page. */
function isWriting(value: unknown): value is Partial<Writing> {
  const { text, mentions, audience } = (value ?? {}) as Partial<Writing>;
  return (
    typeof text === 'string' && Array.isArray(mentions) && ['internal', 'customer'].includes(audience ?? '')
  );
}
