/** A member of topics that is not a socket. */
export interface Receiver {
  receive(bytes: Buffer): void;
}

/** The topics of receivers that uWebSockets.js does not know, under the same names as its own. */
export class OwnTopics {
  readonly #receivers = new Map<string, Set<Receiver>>();

  subscribe(topic: string, receiver: Receiver): void {
    const receivers = this.#receivers.get(topic);
    if (receivers === undefined) this.#receivers.set(topic, new Set([receiver]));
    else receivers.add(receiver);
  }

  unsubscribe(topic: string, receiver: Receiver): void {
    const receivers = this.#receivers.get(topic);
    if (receivers?.delete(receiver) === true && receivers.size === 0) this.#receivers.delete(topic);
  }

  numSubscribers(topic: string): number {
    return this.#receivers.get(topic)?.size ?? 0;
  }

  publish(topic: string, bytes: Buffer): void {
    for (const receiver of this.#receivers.get(topic) ?? []) receiver.receive(bytes);
  }
}
