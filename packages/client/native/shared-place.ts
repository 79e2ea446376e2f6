import type { OutboxNews, OutboxPeers } from '../store/outbox-record.ts';
import { SerialQueue } from '../timing/serial-queue.ts';

/**
 * The stores of one name share it, as tabs share a lock and a channel: React Native has neither,
 * and an app is one process.
 */
export class SharedPlace {
  static readonly #all = new Map<string, SharedPlace>();
  /** Changes of the storage, which has no transactions. */
  readonly changes: SerialQueue = new SerialQueue();
  readonly #turns = new Map<string, SerialQueue>();
  readonly #clients = new Set<(news: OutboxNews) => void>();

  static of(name: string): SharedPlace {
    const place = SharedPlace.#all.get(name) ?? new SharedPlace();
    SharedPlace.#all.set(name, place);
    return place;
  }

  /** Implements OutboxStore.join. */
  join(hear: (news: OutboxNews) => void): OutboxPeers {
    this.#clients.add(hear);
    return {
      tell: (news) => this.tell(news, hear),
      alone: (conversationId, work, signal) => {
        const turn = this.#turns.get(conversationId) ?? new SerialQueue();
        this.#turns.set(conversationId, turn);
        return turn.run(() => {
          signal.throwIfAborted();
          return work();
        });
      },
      leave: () => void this.#clients.delete(hear),
    };
  }

  /** Passes news to all clients but the one that has it. */
  tell(news: OutboxNews, from?: (news: OutboxNews) => void): void {
    for (const hear of this.#clients) if (hear !== from) queueMicrotask(() => hear(news));
  }
}
