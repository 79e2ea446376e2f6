import {
  type IdbDatabase,
  type IdbKey,
  type IdbObjects,
  type IdbRequest,
  type IdbTransaction,
  PLATFORM,
} from './platform.ts';

/** A database of IndexedDB, opened at the first use, and at the first after an error. */
export class Objects {
  readonly #name: string;
  readonly #create: (database: IdbDatabase) => void;
  #database: Promise<IdbDatabase> | undefined;

  /** `create` makes the object stores of a new database. */
  constructor(name: string, create: (database: IdbDatabase) => void) {
    this.#name = name;
    this.#create = create;
  }

  /** Runs `work` in a transaction. Resolves once it is complete; rejects with nothing changed. */
  async run<T>(
    mode: 'readonly' | 'readwrite',
    name: string,
    work: (objects: IdbObjects) => Promise<T>,
  ): Promise<T> {
    const transaction = await this.#begin(mode, name);
    const complete = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error ?? new Error('The transaction was aborted.'));
    });
    const [result] = await Promise.all([work(transaction.objectStore(name)), complete]);
    return result;
  }

  /**
   * Opens a closed database again: Safari closes databases of background pages without an event.
   */
  async #begin(mode: 'readonly' | 'readwrite', name: string): Promise<IdbTransaction> {
    this.#database ??= this.#open();
    const opened = this.#database;
    const database = await opened;
    try {
      return database.transaction([name], mode);
    } catch {
      this.#forget(opened);
      this.#database ??= this.#open();
      return (await this.#database).transaction([name], mode);
    }
  }

  /** Makes the next use open the database again. */
  #forget(opened: Promise<IdbDatabase>): void {
    if (this.#database === opened) this.#database = undefined;
    opened.then(
      (database) => database.close(),
      () => {},
    );
  }

  #open(): Promise<IdbDatabase> {
    const opened = new Promise<IdbDatabase>((resolve, reject) => {
      const opening = PLATFORM.indexedDB?.open(this.#name, VERSION);
      if (opening === undefined) throw new Error('This platform has no IndexedDB.');
      let isLate = false;
      // Uses fail at once until the browser answers after all.
      const giveUp = (reason: string) => {
        isLate = true;
        reject(new Error(reason));
      };
      // Browsers have left the request unanswered.
      const timer = setTimeout(() => giveUp('IndexedDB did not open.'), OPEN_MS);
      opening.onupgradeneeded = () => this.#create(opening.result);
      opening.onblocked = () => giveUp('IndexedDB is blocked by another tab.');
      opening.onerror = () => {
        clearTimeout(timer);
        this.#forget(opened);
        reject(opening.error);
      };
      opening.onsuccess = () => {
        clearTimeout(timer);
        const database = opening.result;
        const usable = isLate ? Promise.resolve(database) : opened;
        this.#database = usable;
        database.onclose = () => this.#forget(usable);
        database.onversionchange = () => this.#forget(usable);
        resolve(database);
      };
    });
    return opened;
  }
}

export function answerOf<T>(request: IdbRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Deletes everything that an index has under a key. */
export async function deleteAll(objects: IdbObjects, index: string, key: IdbKey): Promise<void> {
  for (const found of await answerOf(objects.index(index).getAllKeys(key))) objects.delete(found);
}

const VERSION = 1;
const OPEN_MS = 5_000;
