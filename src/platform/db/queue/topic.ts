/**
 * A kind of deferred work: the name of outbox rows or jobs, and the type of their payload. Both
 * outlive a release: rows of the previous version must still be handled.
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
 * Returns a handler that does all the work of a row or job. It is called again after a rejection,
 * and maybe at other times; `isRepeated` says that it may have been called before.
 */
export function handle<Payload extends object>(
  { name }: Topic<Payload>,
  handler: (payload: Payload, isRepeated: boolean) => Promise<void>,
): TopicHandler {
  // `enqueue`, `addJob` and statements that use the name write each topic's own payload.
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
