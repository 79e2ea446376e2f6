/** The parts of IndexedDB and of Web Locks that the store uses, as the platform has them. */

export interface IdbRequest<T> {
  readonly result: T;
  readonly error: Error | null;
  onsuccess: (() => void) | null;
  onerror: (() => void) | null;
}

interface IdbOpening extends IdbRequest<IdbDatabase> {
  onupgradeneeded: (() => void) | null;
  onblocked: (() => void) | null;
}

export interface IdbDatabase {
  onclose: (() => void) | null;
  onversionchange: (() => void) | null;
  createObjectStore(name: string, options: { autoIncrement?: boolean; keyPath?: string }): IdbObjects;
  transaction(names: readonly string[], mode: 'readonly' | 'readwrite'): IdbTransaction;
  close(): void;
}

export interface IdbTransaction {
  readonly error: Error | null;
  oncomplete: (() => void) | null;
  onabort: (() => void) | null;
  objectStore(name: string): IdbObjects;
}

/** An object store or one of its indexes, with keys of this store's kind. */
export interface IdbObjects {
  createIndex(name: string, keyPath: string | readonly string[], options?: { unique: boolean }): IdbObjects;
  index(name: string): IdbObjects;
  get(key: IdbKey): IdbRequest<unknown>;
  getKey(key: IdbKey): IdbRequest<IdbKey | undefined>;
  getAll(key?: IdbKey): IdbRequest<unknown[]>;
  getAllKeys(key?: IdbKey): IdbRequest<IdbKey[]>;
  put(value: object, key?: IdbKey): IdbRequest<IdbKey>;
  delete(key: IdbKey): IdbRequest<undefined>;
}

export type IdbKey = string | number | readonly IdbKey[];

interface Idb {
  open(name: string, version: number): IdbOpening;
}

interface LockManager {
  request(name: string, options: { signal: AbortSignal }, work: () => Promise<void>): Promise<void>;
}

/** The differences of platforms; each throws or is undefined where it is missing. */
export interface Platform {
  readonly indexedDB?: Idb;
  readonly navigator?: { readonly locks?: LockManager };
  readonly BroadcastChannel?: new (name: string) => Channel;
}

interface Channel {
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  postMessage(data: unknown): void;
  close(): void;
}

export const PLATFORM: Platform = globalThis as object;
