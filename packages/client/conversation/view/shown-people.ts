import type { KnownPeople } from '../../people/known-people.ts';
import type { People } from './conversation-snapshot.ts';

/** The actors that a page has asked for. `value` is another object once an actor is known. */
export class ShownPeople {
  readonly #known: Pick<KnownPeople, 'get'>;
  readonly #asked = new Set<string>();
  #value: People | undefined;

  constructor(known: Pick<KnownPeople, 'get'>) {
    this.#known = known;
  }

  get value(): People {
    this.#value ??= {
      get: (actorId) => {
        this.#asked.add(actorId);
        return this.#known.get(actorId);
      },
    };
    return this.#value;
  }

  /** Returns whether `value` has changed. */
  learned(actorId: string): boolean {
    if (!this.#asked.has(actorId)) return false;
    this.#value = undefined;
    return true;
  }
}
