import { tried } from '../errors/tried.ts';
import { TRANSPORTS, type Transport } from './transport.ts';

/** The part of `localStorage` that the SDK uses. Its methods may throw. */
export interface KeyValueStorage {
  /** Returns the value of a key, or null. */
  getItem(key: string): string | null;
  /** Sets the value of a key. */
  setItem(key: string, value: string): void;
  /** Removes a key; does nothing if there is none. */
  removeItem(key: string): void;
}

/** Remembers for a day, by server, that a transport other than the best one worked. */
export class TransportMemory {
  readonly #storage: KeyValueStorage | undefined;

  constructor(storage: KeyValueStorage | undefined) {
    this.#storage = storage;
  }

  read(origin: string): Transport | undefined {
    const [name, since] = tried(() => this.#storage?.getItem(keyOf(origin)))?.split(' ') ?? [];
    const ageMs = Date.now() - Number(since);
    return ageMs >= 0 && ageMs < DAY_MS ? TRANSPORTS.find((transport) => transport === name) : undefined;
  }

  /** Forgets with undefined. A known transport keeps its age, so that it expires. */
  write(origin: string, transport: Transport | undefined): void {
    if (this.read(origin) === transport) return;
    // Where the storage is full or forbidden, the next page finds out again.
    tried(() =>
      transport === undefined
        ? this.#storage?.removeItem(keyOf(origin))
        : this.#storage?.setItem(keyOf(origin), `${transport} ${Date.now()}`),
    );
  }
}

/** Returns undefined outside a page, and where the page may not store anything. */
export function platformStorage(): KeyValueStorage | undefined {
  // The accessor itself throws where storage is forbidden, and warns in some releases of Node.
  return tried(() => ('document' in globalThis ? globalThis.localStorage : undefined));
}

function keyOf(origin: string): string {
  return `parley.transport ${origin}`;
}

const DAY_MS = 86_400_000;
