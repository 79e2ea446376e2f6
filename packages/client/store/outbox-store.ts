import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { Outbox, OutboxHost } from '../outbox/outbox.ts';
import { KeptOutbox } from './kept-outbox.ts';
import type { OutboxNews, OutboxPeers, OutboxRecord, OutboxRecords } from './outbox-record.ts';
import type { PageStore } from './page-store.ts';

/**
 * Keeps the messages that one actor of an account has written and the server does not have yet.
 * `openStore` returns a store in IndexedDB; elsewhere an application extends this class. Methods
 * reject where the storage fails: the client then sends the message all the same, and emits
 * `error`, with the key of each message that was not kept.
 */
export abstract class OutboxStore implements OutboxRecords {
  /** The id of the account; `connect` refuses the store of another one. */
  abstract readonly account: string;
  /**
   * The id of the actor, or `ext:` and its own id. Clients of other actors neither show nor send
   * its messages.
   */
  abstract readonly actor: string;
  /** Pages that were read, if they are kept too. */
  readonly pages?: PageStore;
  /** Returns the records in the order of `add`. */
  abstract all(): Promise<readonly OutboxRecord[]>;
  /** Adds a record behind all others; replaces an earlier one with its key. */
  abstract add(record: OutboxRecord): Promise<void>;
  /** Replaces the record with this key in its place. Does nothing if there is none. */
  abstract update(record: OutboxRecord): Promise<void>;
  /** Removes the record with this key. Does nothing if there is none. */
  abstract remove(key: string): Promise<void>;
  /**
   * Removes all records and pages, and tells open clients, which then keep nothing more. For
   * sign-outs.
   */
  abstract clear(): Promise<void>;
  /**
   * Connects a client to others with the same store, such as other tabs. `hear` gets their news,
   * but not its own. Absent if only one client at a time has the store.
   */
  join?(hear: (news: OutboxNews) => void): OutboxPeers;

  /**
   * Returns whether the messages are those of the signed-in actor. A store that knows its actor by
   * another name overrides it; where it rejects, the client goes on without the store.
   */
  isOf({ id, external_id }: Actor): boolean | Promise<boolean> {
    return this.actor === id || (typeof external_id === 'string' && this.actor === `ext:${external_id}`);
  }

  /** Called by the client. */
  outbox(host: OutboxHost): Outbox {
    return new KeptOutbox(host, this);
  }
}
