import type { List } from '@parley/protocol/lists.ts';
import type { Actor, MessagingGroup } from '@parley/protocol/resources/actor.ts';
import type { Person } from '@parley/protocol/resources/person.ts';
import { dropOldest } from '../events/drop-oldest.ts';
import { ReadLoop } from '../lists/read-loop.ts';
import { readSome } from '../lists/read-some.ts';
import { type Fetch, queryOf } from '../rest/pages.ts';
import type { Timing } from '../timing/timing.ts';

/** The requests of KnownPeople to its client. */
export interface PeopleHost {
  readonly fetch: Fetch;
  readonly timing: Pick<Timing, 'after'>;
}

/**
 * The names and pictures behind the ids of actors. It learns from every answer and event, and
 * requests unknown actors when they are read, many at once. It keeps the last two thousand.
 */
export class KnownPeople {
  readonly #host: PeopleHost;
  readonly #known = new Map<string, Actor>();
  readonly #wanted = new Set<string>();
  /** Ids that the server does not show to the caller. */
  readonly #absent = new Set<string>();
  readonly #listeners = new Set<(id: string) => void>();
  /** The server has no such request, or not for this caller. */
  #isRefused = false;
  readonly #reads: ReadLoop;

  /** Use `Client.actors`. */
  constructor(host: PeopleHost) {
    this.#host = host;
    this.#reads = new ReadLoop({
      timing: host.timing,
      read: () => readSome(this.#wanted, (ids) => this.#ask(ids)),
      // A transient failure is repeated when the actor is read again.
      failed: ({ isTransient }) => {
        this.#wanted.clear();
        this.#isRefused = !isTransient;
      },
    });
  }

  /** Returns undefined for an actor that is not known yet, and requests it. */
  get(id: string): Actor | undefined {
    const known = this.#known.get(id);
    if (known === undefined && !this.#isRefused && !this.#absent.has(id)) {
      this.#wanted.add(id);
      this.#reads.wake();
    }
    return known;
  }

  /** Keeps an actor; the state that is learned last counts. */
  learn(actor: Actor): void {
    const before = this.#known.get(actor.id);
    this.#known.delete(actor.id);
    this.#known.set(actor.id, actor);
    this.#wanted.delete(actor.id);
    this.#absent.delete(actor.id);
    if (before !== undefined && isSame(before, actor)) return;
    dropOldest(this.#known, MOST_KNOWN);
    for (const listener of [...this.#listeners]) listener(actor.id);
  }

  /** Learns every actor within an answer or the data of an event. */
  learnFrom(value: unknown): void {
    if (typeof value !== 'object' || value === null) return;
    const { object } = value as { readonly object?: unknown };
    if (object === 'actor') this.learn(value as Actor);
    else if (object === 'person') this.learn(actorOf(value as Person));
    else if (object === 'messaging_group') this.#learnGroup(value as MessagingGroup);
    for (const part of Object.values(value)) if (typeof part === 'object') this.learnFrom(part);
  }

  /**
   * Calls the listener with the id of each actor that has become known or has changed. Returns the
   * function that removes it.
   */
  onLearned(listener: (id: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #learnGroup({ actor_id: id, name, avatar_url }: MessagingGroup): void {
    // Versions before 1.2.harbor do not say which actor it is.
    if (id === undefined) return;
    this.learn(actorOf({ id, type: 'group', name, avatar_url: avatar_url ?? null }));
  }

  async #ask(ids: readonly string[]): Promise<void> {
    const { data } = await this.#host.fetch<List<Actor>>(
      `/v1/messaging/actors${queryOf({ actor_ids: ids })}`,
    );
    for (const actor of data) this.learn(actor);
    for (const id of ids) if (this.#wanted.delete(id)) this.#absent.add(id);
    if (this.#absent.size > MOST_KNOWN) this.#absent.clear();
  }
}

/** Returns an actor without a role, and of no name, handle or picture unless they are given. */
export function actorOf({
  id,
  type,
  name = null,
  handle = null,
  avatar_url = null,
}: Pick<Actor, 'id' | 'type'> & Partial<Pick<Actor, 'name' | 'handle' | 'avatar_url'>>): Actor {
  return { id, object: 'actor', type, name, handle, avatar_url, role: null };
}

function isSame(a: Actor, b: Actor): boolean {
  return a.name === b.name && a.avatar_url === b.avatar_url && a.handle === b.handle && a.type === b.type;
}

const MOST_KNOWN = 2_000;
