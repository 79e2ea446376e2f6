/** Where the pages of one person are kept: values by name. */
export interface PagePlace {
  /** Runs work alone, behind what was begun before. Nothing is changed where it rejects. */
  run<T>(work: (values: PageValues) => Promise<T>): Promise<T>;
  /** Removes what other persons have left in the same browser or app. */
  removeOthers(): Promise<void>;
}

/** The values of a place. */
export interface PageValues {
  /** Undefined if there is none. */
  get(name: string): Promise<unknown>;
  /** `value` is JSON. */
  put(name: string, value: object): Promise<unknown>;
  delete(name: string): Promise<unknown>;
  /** Removes all values, known or not. */
  clear(): Promise<unknown>;
}

/** The value that lists the pages. */
interface Index {
  readonly form: typeof FORM;
  /** The page that was opened last is the first. */
  readonly pages: readonly Listed[];
}

interface Listed {
  readonly name: string;
  /** 0 of a page whose text was removed. */
  readonly bytes: number;
}

interface Page {
  readonly form: typeof FORM;
  /** The items as JSON. */
  readonly text: string;
}

/** The pages of one person, up to a limit: those that were opened last. */
export class PageStore {
  readonly #place: PagePlace;
  readonly #limitBytes: number;

  constructor(place: PagePlace, limitBytes: number) {
    this.#place = place;
    this.#limitBytes = limitBytes;
  }

  /** Notes that a page is opened. Returns what is kept of it. */
  open(name: string): Promise<readonly object[] | undefined> {
    return this.#place.run(async (values) => {
      const { pages } = await indexOf(values);
      const known = pages.find((page) => page.name === name) ?? { name, bytes: 0 };
      const kept = known.bytes === 0 ? undefined : await values.get(name);
      const items = itemsOf(kept);
      if (kept !== undefined && items === undefined) await values.delete(name);
      const bytes = items === undefined ? 0 : known.bytes;
      await this.#list(values, [{ name, bytes }, ...pages.filter((page) => page !== known)]);
      return items;
    });
  }

  /** Replaces a page, if it was opened and `isWanted` still. */
  write(name: string, items: readonly object[], isWanted: () => boolean): Promise<void> {
    const text = JSON.stringify(items);
    const bytes = new TextEncoder().encode(text).length;
    return this.#place.run(async (values) => {
      const { pages } = await indexOf(values);
      if (!isWanted() || !pages.some((page) => page.name === name)) return;
      if (bytes <= this.#limitBytes) await values.put(name, { form: FORM, text } satisfies Page);
      const listed = { name, bytes: bytes <= this.#limitBytes ? bytes : 0 };
      if (listed.bytes === 0) await values.delete(name);
      await this.#list(
        values,
        pages.map((page) => (page.name === name ? listed : page)),
      );
    });
  }

  /** Removes a page. */
  remove(name: string): Promise<void> {
    return this.#place.run(async (values) => {
      const { pages } = await indexOf(values);
      await values.delete(name);
      await this.#list(
        values,
        pages.filter((page) => page.name !== name),
      );
    });
  }

  /** Removes the texts of all pages. Returns their names, the one that was opened last first. */
  strip(): Promise<readonly string[]> {
    return this.#place.run(async (values) => {
      const { pages } = await indexOf(values);
      for (const { name } of pages) await values.delete(name);
      await this.#list(
        values,
        pages.map(({ name }) => ({ name, bytes: 0 })),
      );
      return pages.map(({ name }) => name);
    });
  }

  /** Removes everything of the person. */
  clear(): Promise<void> {
    return this.#place.run(async (values) => void (await values.clear()));
  }

  /** Removes what other persons have left. */
  removeOthers(): Promise<void> {
    return this.#place.removeOthers();
  }

  /** Writes the list without what is beyond the limits, and removes that. */
  async #list(values: PageValues, pages: readonly Listed[]): Promise<void> {
    let left = this.#limitBytes;
    const kept: Listed[] = [];
    for (const page of pages) {
      left -= page.bytes;
      if (left >= 0 && kept.length < MOST_PAGES) kept.push(page);
      else await values.delete(page.name);
    }
    await values.put(INDEX, { form: FORM, pages: kept } satisfies Index);
  }
}

/** Returns the list; an empty one, with everything removed, where its form is another one. */
async function indexOf(values: PageValues): Promise<Index> {
  const found = ((await values.get(INDEX)) ?? {}) as Partial<Index>;
  const isListed = ({ name, bytes }: Partial<Listed>) => typeof name === 'string' && Number.isInteger(bytes);
  if (found.form === FORM && Array.isArray(found.pages) && found.pages.every(isListed)) return found as Index;
  await values.clear();
  return { form: FORM, pages: [] };
}

/** Returns undefined for what this version has not written. */
function itemsOf(value: unknown): readonly object[] | undefined {
  const { form, text } = (value ?? {}) as Partial<Page>;
  if (form !== FORM || typeof text !== 'string') return undefined;
  try {
    const items: unknown = JSON.parse(text);
    const isItem = (item: unknown) => typeof (item as { readonly id?: unknown } | null)?.id === 'string';
    return Array.isArray(items) && items.every(isItem) ? items : undefined;
  } catch {
    return undefined;
  }
}

/** To be raised when pages or their list have another form: what has the old one is dropped. */
const FORM = 1;
/** No page has this name. */
const INDEX = '';
/** Each is read again after a connection. */
const MOST_PAGES = 50;
