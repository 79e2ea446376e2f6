import { type IdbDatabase, type IdbKey, type IdbObjects, type IdbRequest, PLATFORM } from './platform.ts';

/** A database of IndexedDB, opened when it is used first, and again after the browser closed it. */
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
    this.#database ??= this.#open();
    const transaction = (await this.#database).transaction([name], mode);
    const complete = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error ?? new Error('The transaction was aborted.'));
    });
    const [result] = await Promise.all([work(transaction.objectStore(name)), complete]);
    return result;
  }

  #open(): Promise<IdbDatabase> {
    return new Promise((resolve, reject) => {
      const opening = PLATFORM.indexedDB?.open(this.#name, VERSION);
      if (opening === undefined) throw new Error('This platform has no IndexedDB.');
      // Browsers have left the request unanswered.
      const timer = setTimeout(() => reject(new Error('IndexedDB did not open.')), OPEN_MS);
      const forget = () => {
        this.#database = undefined;
      };
      opening.onupgradeneeded = () => this.#create(opening.result);
      opening.onblocked = () => reject(new Error('IndexedDB is blocked by another tab.'));
      opening.onerror = () => reject(opening.error);
      opening.onsuccess = () => {
        clearTimeout(timer);
        const database = opening.result;
        database.onclose = forget;
        database.onversionchange = () => {
          database.close();
          forget();
        };
        resolve(database);
      };
    });
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
