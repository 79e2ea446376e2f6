import type { Engine, Subscription } from '../../../platform/engine/engine.ts';
import { isCommitted } from '../../../platform/engine/frame.ts';
import type { Broadcast, Reader } from './reader.ts';

/**
 * An actor's own events on this node: they have no numbers and are published to the topic as they
 * arrive.
 */
export class Feed {
  readonly readers = new Set<Reader>();
  readonly ready: Promise<Subscription>;
  #closed = false;

  constructor(actorId: string, engine: Engine, broadcast: Broadcast) {
    this.ready = engine.subscribe(actorId, (frame) => {
      if (isCommitted(frame)) broadcast('durable', frame);
    });
    this.ready.then(
      (subscription) => this.#closed && subscription.unsubscribe(),
      () => {},
    );
  }

  close(): void {
    this.#closed = true;
    this.ready.then(
      (subscription) => subscription.unsubscribe(),
      () => {},
    );
  }
}
