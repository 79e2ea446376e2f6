import type { Rights } from '../../../api/access/rights.ts';
import { EVERYTHING } from '../../../api/access/rights.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import {
  type ListenersRevision,
  raiseListenersRevision,
  readListenersRevision,
} from '../../../platform/db/connection/listeners-revision.ts';
import type { Logger } from '../../../platform/log.ts';
import { enqueueRightsChanged } from '../rights/rights-changed.ts';

export interface ListenersOptions<Found> {
  readonly database: Database;
  readonly rights: Pick<Rights, 'onChange'>;
  readonly read: (database: Database) => Promise<Found>;
  readonly log: Logger;
}

/**
 * The listeners to events of accounts, such as webhooks, in the memory of this node. They are read
 * again when a change is announced, and when a row of the outbox cannot be deleted because the
 * revision has grown (platform/db/queue/in-flight-rows.ts). A node that missed the announcement
 * then handles the row once more, in the current state.
 */
export class Listeners<Found> {
  readonly #options: ListenersOptions<Found>;
  #known: Known<Found>;
  #isStale = false;
  #renewal: Promise<void> | undefined;
  readonly #stopListening: () => void;

  static async open<Found>(options: ListenersOptions<Found>): Promise<Listeners<Found>> {
    const listeners = new Listeners(options, await readKnown(options));
    // Covers changes between the read and the registration.
    await listeners.renew();
    return listeners;
  }

  /** Use `Listeners.open`. */
  private constructor(options: ListenersOptions<Found>, known: Known<Found>) {
    this.#options = options;
    this.#known = known;
    this.#stopListening = options.rights.onChange((subject) => {
      if (subject === LISTENERS || subject === EVERYTHING) void this.renew();
    });
  }

  /** Read it before matching events: the listeners may be newer than the revision, never older. */
  get revision(): ListenersRevision {
    return this.#known.revision;
  }

  get found(): Found {
    return this.#known.found;
  }

  /** Resolves when a read that began after this call is complete. Never rejects. */
  renew(): Promise<void> {
    this.#isStale = true;
    this.#renewal ??= this.#renew();
    return this.#renewal;
  }

  async close(): Promise<void> {
    this.#stopListening();
    await this.#renewal;
  }

  async #renew(): Promise<void> {
    try {
      while (this.#isStale) {
        this.#isStale = false;
        this.#known = await readKnown(this.#options);
      }
    } catch (error) {
      // The next row of the outbox that cannot be deleted triggers another try.
      this.#options.log.warn({ err: error }, 'could not read what listens to events');
    } finally {
      this.#renewal = undefined;
    }
  }
}

interface Known<Found> {
  readonly revision: ListenersRevision;
  readonly found: Found;
}

/** Reads the revision first, so that the listeners include at least its changes. */
async function readKnown<Found>({ database, read }: ListenersOptions<Found>): Promise<Known<Found>> {
  const revision = await readListenersRevision(database);
  return { revision, found: await read(database) };
}

/** The subject of announcements (api/access/rights.ts). */
const LISTENERS = 'listeners';

/**
 * Announces a change of webhooks in its transaction: events committed after it find the change on
 * every node. Makes all nodes handle the rows of the last 100 ms twice, so use it only for rare
 * changes.
 */
export async function changeListeners(tx: Tx): Promise<void> {
  await raiseListenersRevision(tx);
  await enqueueRightsChanged(tx, [LISTENERS]);
}
