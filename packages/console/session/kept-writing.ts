/** A person or an agent whose name stands in a text after an `@`. */
export interface Mention {
  readonly id: string;
  readonly name: string;
  readonly type: 'user' | 'agent';
}

/**
 * A person's unsent writing, by conversation or thread. It is in `localStorage`, so that it also
 * survives a closed tab and a browser that ends by itself, because losing it means losing work.
 * Signing out removes it, as it removes the messages that wait to be sent.
 */
export interface Writing {
  readonly text: string;
  /** The people chosen from the list; they count while their names are in the text. */
  readonly mentions: readonly Mention[];
  /** The audience in a case. Kept when the text is sent. */
  readonly audience: Audience;
  /** Subject and copies of a mail as the person has changed them. */
  readonly subject?: string;
  readonly cc?: string;
}

/** `internal`: a note to the team. `customer`: a reply. */
export type Audience = 'internal' | 'customer';

/** Nothing goes to a customer before the person has chosen that once. */
export const NOTHING_WRITTEN: Writing = { text: '', mentions: [], audience: 'internal' };

/** The person of a writing. Persons who share a browser share nothing. */
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

/** One person's writing, by the id of the conversation or of the message replied to. */
export class KeptWriting {
  readonly #storage: WritingStorage | null;
  readonly #prefix: string;

  constructor({ account, actor }: Writer, storage = ownStorage()) {
    this.#storage = storage;
    this.#prefix = `parley-writing ${account} ${actor} `;
  }

  /**
   * Without writing, a conversation has the audience that the person chose last; a thread is
   * internal.
   */
  get(place: string): Writing {
    const nothing = { ...NOTHING_WRITTEN, audience: this.#audienceAt(place) };
    try {
      const found = JSON.parse(this.#storage?.getItem(this.#prefix + place) ?? 'null');
      return isWriting(found) ? { ...nothing, ...found } : nothing;
    } catch {
      return nothing;
    }
  }

  /** Does nothing where the browser keeps nothing, or has no space. */
  set(place: string, writing: Writing): void {
    const name = this.#prefix + place;
    try {
      if (isEmpty(writing, this.#audienceAt(place))) this.#storage?.removeItem(name);
      else this.#storage?.setItem(name, JSON.stringify(writing));
    } catch {
      // The field keeps its text.
    }
  }

  /** Keeps the choice of an audience, with which other cases begin. */
  choose(audience: Audience): void {
    try {
      this.#storage?.setItem(this.#prefix + LAST_AUDIENCE, audience);
    } catch {
      // The choice is for this case alone.
    }
  }

  #audienceAt(place: string): Audience {
    try {
      const isThread = place.includes(' ');
      const last = this.#storage?.getItem(this.#prefix + LAST_AUDIENCE);
      return last === 'customer' && !isThread ? last : NOTHING_WRITTEN.audience;
    } catch {
      return NOTHING_WRITTEN.audience;
    }
  }

  /**
   * Calls a listener when another tab has changed the writing of a place. Returns the end of it.
   */
  follow(place: string, changed: () => void): () => void {
    const listener = ({ key, storageArea }: StorageEvent) => {
      if (storageArea === this.#storage && key === this.#prefix + place) changed();
    };
    addEventListener('storage', listener);
    return () => removeEventListener('storage', listener);
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

/** No id is like it. */
const LAST_AUDIENCE = 'audience';

function isEmpty({ text, audience, subject, cc }: Writing, usual: Audience): boolean {
  return text === '' && audience === usual && subject === undefined && cc === undefined;
}

/** Checks a value, because other versions of the page share the storage. */
function isWriting(value: unknown): value is Partial<Writing> {
  const { text, mentions, audience } = (value ?? {}) as Partial<Writing>;
  return (
    typeof text === 'string' && Array.isArray(mentions) && ['internal', 'customer'].includes(audience ?? '')
  );
}
