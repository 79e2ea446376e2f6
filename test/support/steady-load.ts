import { setTimeout as pause } from 'node:timers/promises';
import type { TestNode } from './node.ts';
import type { Random } from './random.ts';
import type { Teardown } from './teardown.ts';
import { until } from './until.ts';

export interface SteadyLoadOptions {
  /** Called at each attempt. */
  readonly node: () => TestNode;
  readonly conversationIds: readonly string[];
  readonly perSecond: number;
  readonly random: Random;
}

/**
 * Messages of ada at a steady pace, independent of the results of earlier messages: each is retried
 * until it is acknowledged.
 */
export class SteadyLoad {
  /** Ids of messages that were answered 201. */
  readonly acknowledged: string[] = [];
  /** Attempts that were refused or not answered. */
  retried = 0;
  readonly #options: SteadyLoadOptions;
  readonly #sends: Promise<void>[] = [];
  readonly #run: Promise<void>;
  #stopped = false;

  constructor(t: Teardown, options: SteadyLoadOptions) {
    this.#options = options;
    t.teardown(() => {
      this.#stopped = true;
    });
    this.#run = this.#pace();
  }

  /** Resolves when `more` further messages are acknowledged. */
  async sends(more: number): Promise<void> {
    const goal = this.acknowledged.length + more;
    await until(() => this.acknowledged.length >= goal, {
      what: `${more} more sends`,
    });
  }

  /** Resolves when every message is acknowledged; rejects if one is refused for good. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#run;
    await Promise.all(this.#sends);
  }

  async #pace(): Promise<void> {
    const { perSecond, random, conversationIds } = this.#options;
    const startedAt = performance.now();
    for (let n = 0; !this.#stopped; n++) {
      const inMs = startedAt + (n * 1_000) / perSecond - performance.now();
      if (inMs > 0) await pause(inMs);
      const send = this.#send(`steady-${n}`, random.pick(conversationIds));
      // `stop` reports the rejection.
      send.catch(() => undefined);
      this.#sends.push(send);
    }
  }

  async #send(clientMessageId: string, conversationId: string): Promise<void> {
    const { node, random } = this.#options;
    let last = 'no answer';
    for (const startedAt = performance.now(); performance.now() - startedAt < MAX_MS; ) {
      const one = node();
      const answer = await one
        .send(conversationId, { client_message_id: clientMessageId }, one.demo.users.ada.access_token)
        .catch((error: Error) => {
          last = error.message;
        });
      if (answer?.status === 201) {
        this.acknowledged.push(String(answer.body.id));
        return;
      }
      if (answer) last = `${answer.status} ${JSON.stringify(answer.body)}`;
      this.retried += 1;
      await pause(20 + random.below(100));
    }
    throw new Error(`${clientMessageId} is not acknowledged: ${last}`);
  }
}

const MAX_MS = 30_000;
