/**
 * What is to be done later, by the name under which it is stored: rows of the outbox (outbox.ts) and jobs of the queue
 * (queue.ts). The type ties what is written to what its handler receives. Names and payloads outlive a release: rows
 * that the version before has written must still be handled.
 */
export interface Topic<Payload extends object> {
  readonly name: string;
  /** No value: keeps topics with different payloads apart for the compiler, in both directions. */
  readonly payload?: (payload: Payload) => Payload;
}

export function defineTopic<Payload extends object>(name: string): Topic<Payload> {
  return { name };
}

/** Does what a row of the topic stands for. Made by `handle` alone, which knows the type of the payload. */
export interface TopicHandler {
  readonly topic: string;
  run(payload: unknown): Promise<void>;
}

/** `handler` does all of what the row or job stands for. It may be called again for the same one; when it rejects, it is. */
export function handle<Payload extends object>(
  { name }: Topic<Payload>,
  handler: (payload: Payload) => Promise<void>,
): TopicHandler {
  // Rows of a topic are written by `enqueue` and `addJob`, and by statements that use its name: each with its payload.
  return { topic: name, run: (payload) => handler(payload as Payload) };
}

/** Handlers by the name of their topic. Throws where two handle the same one. */
export function byTopic(handlers: readonly TopicHandler[]): ReadonlyMap<string, TopicHandler['run']> {
  const found = new Map<string, TopicHandler['run']>();
  for (const { topic, run } of handlers) {
    if (found.has(topic)) throw new Error(`Two handlers of the topic ${topic}.`);
    found.set(topic, run);
  }
  return found;
}
