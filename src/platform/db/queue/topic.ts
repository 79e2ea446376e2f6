/**
 * A kind of deferred work, by the name under which it is stored: rows of the outbox (outbox.ts) and
 * jobs of the queue (queue.ts). The type ties the written payload to the payload that the handler
 * receives. Names and payloads outlive a release: rows of the version before must still be handled.
 */
export interface Topic<Payload extends object> {
  readonly name: string;
  /** Never set: it makes topics with different payloads different types, in both directions. */
  readonly payload?: (payload: Payload) => Payload;
}

export function defineTopic<Payload extends object>(name: string): Topic<Payload> {
  return { name };
}

/** Handles rows of a topic. Made only by `handle`, which knows the type of the payload. */
export interface TopicHandler {
  readonly topic: string;
  run(payload: unknown, isRepeated: boolean): Promise<void>;
}

/**
 * `handler` does everything that the row or job stands for. After a rejection, and possibly at
 * other times, it is called again for the same one. `isRepeated` says that it may have been called
 * before.
 */
export function handle<Payload extends object>(
  { name }: Topic<Payload>,
  handler: (payload: Payload, isRepeated: boolean) => Promise<void>,
): TopicHandler {
  // Rows of a topic are written by `enqueue` and `addJob`, and by statements that use its name,
  // each with its payload.
  return { topic: name, run: (payload, isRepeated) => handler(payload as Payload, isRepeated) };
}

/** Returns the handlers by topic name. Throws if two handle the same topic. */
export function byTopic(handlers: readonly TopicHandler[]): ReadonlyMap<string, TopicHandler['run']> {
  const found = new Map<string, TopicHandler['run']>();
  for (const { topic, run } of handlers) {
    if (found.has(topic)) throw new Error(`Two handlers of the topic ${topic}.`);
    found.set(topic, run);
  }
  return found;
}
