import { type FrameStorage, frameStorage } from '../identity/frame-storage.ts';

interface Kept {
  /** The actor that wrote; null for a visitor that has not begun. */
  readonly person: string | null;
  /** The place in which it wrote last. */
  readonly place: string;
  readonly texts: Readonly<Record<string, string>>;
}

/**
 * The unsent text of the visitor of a tab, by the id of the case, or `new`. It is in the
 * `sessionStorage` of the frame: the next page of the tab has it, other tabs do not, and the page
 * around the frame cannot read it. It is shown only to the person that wrote it.
 */
export class KeptWriting {
  /** The place in which the person was writing when the previous page ended, or null. */
  readonly begunAt: string | null;
  readonly #storage: FrameStorage;
  readonly #key: string;
  #person: string | null;
  #texts: Readonly<Record<string, string>>;

  constructor(widgetId: string, person: string | null, storage = frameStorage('sessionStorage')) {
    this.#storage = storage;
    this.#key = `parley-writing-${widgetId}`;
    this.#person = person;
    const kept = this.#read();
    const isOwn = kept !== undefined && kept.person === person;
    this.begunAt = isOwn ? kept.place : null;
    this.#texts = isOwn ? kept.texts : {};
    // Without a person it is kept, because the page may name the person in a moment.
    if (!isOwn && person !== null) storage.removeItem(this.#key);
  }

  /** Called when the visitor has begun. The text that it wrote before belongs to it. */
  own(person: string | null): void {
    if (person === this.#person) return;
    this.#person = person;
    this.#keep();
  }

  /** Gives the writing to the customer that the visitor is, who goes on at the place. */
  moveTo(person: string, place: string): void {
    this.#person = person;
    this.#write(place);
  }

  get(place: string): string {
    return this.#texts[place] ?? '';
  }

  set(place: string, text: string): void {
    const { [place]: _, ...others } = this.#texts;
    this.#texts = text === '' ? others : { ...others, [place]: text };
    this.#keep();
  }

  #keep(): void {
    const place = Object.keys(this.#texts).at(-1);
    if (place === undefined) this.#storage.removeItem(this.#key);
    else this.#write(place);
  }

  #write(place: string): void {
    try {
      const kept: Kept = { person: this.#person, place, texts: this.#texts };
      this.#storage.setItem(this.#key, JSON.stringify(kept));
    } catch {
      // The browser has no space: the text stays in the field alone.
    }
  }

  #read(): Kept | undefined {
    try {
      return JSON.parse(this.#storage.getItem(this.#key) ?? 'null') ?? undefined;
    } catch {
      return undefined;
    }
  }
}
