import { setTimeout as pause } from 'node:timers/promises';
import { answered } from './answered.ts';
import { createGroup } from './cluster.ts';
import type { TestNode } from './node.ts';
import type { Random } from './random.ts';
import type { Teardown } from './teardown.ts';
import { until } from './until.ts';

export interface QuietWritesOptions {
  /** Called before each request: a node may have been replaced. */
  readonly nodes: () => readonly TestNode[];
  readonly random: Random;
  readonly conversations: number;
}

/**
 * Makes every kind of change in conversations that are otherwise quiet, so that no later message
 * shows what a reader missed. The key renames, grace sends, edits and deletes, and ada reads a
 * notification. Changes follow one another, each repeated until it is acknowledged, with the nodes
 * in turn by round.
 */
export class QuietWrites {
  readonly conversationIds: readonly string[];
  /** Ids of messages that were answered 201. */
  readonly acknowledged: string[] = [];
  /** Acknowledged changes, by kind. */
  readonly made: Record<string, number> = {};
  readonly #options: QuietWritesOptions;
  /** Ids of messages that are not deleted. */
  readonly #messages: string[] = [];
  readonly #running: Promise<void>;
  #rounds = 0;
  #isStopped = false;
  #error: Error | undefined;

  static async start(t: Teardown, options: QuietWritesOptions): Promise<QuietWrites> {
    const conversationIds: string[] = [];
    for (let n = 0; n < options.conversations; n++) {
      conversationIds.push(await createGroup(options.nodes()[0]!, `Quiet ${n}`));
    }
    const writes = new QuietWrites(options, conversationIds);
    t.teardown(() => {
      writes.#isStopped = true;
    });
    return writes;
  }

  private constructor(options: QuietWritesOptions, conversationIds: readonly string[]) {
    this.#options = options;
    this.conversationIds = conversationIds;
    this.#running = this.#run().catch((error: Error) => {
      this.#error = error;
    });
  }

  /**
   * Resolves when every kind of change was made once more through each node; rejects if one was
   * refused.
   */
  async pass(): Promise<void> {
    // One round is in progress.
    const target = this.#rounds + 1 + this.#options.nodes().length;
    await until(() => this.#error !== undefined || this.#rounds >= target, { what: 'rounds of changes' });
    if (this.#error !== undefined) throw this.#error;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
    if (this.#error !== undefined) throw this.#error;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      await this.#round();
      this.#rounds += 1;
      await pause(PAUSE_MS);
    }
  }

  async #round(): Promise<void> {
    const { random } = this.#options;
    const conversationId = random.pick(this.conversationIds);
    await this.#make(
      'rename',
      'PATCH',
      `/v1/messaging/conversations/${conversationId}`,
      { title: `Quiet in round ${this.#rounds}` },
      this.#options.nodes()[0]!.demo.api_key,
    );
    await this.#send(random.pick(this.conversationIds));
    await this.#make('edit', 'PATCH', `/v1/messaging/messages/${random.pick(this.#messages)}`, {
      body: `edited in round ${this.#rounds}`,
    });
    await this.#readNotification();
    await this.#send(random.pick(this.conversationIds));
    const [deleted] = this.#messages.splice(random.below(this.#messages.length), 1);
    await this.#make('delete', 'DELETE', `/v1/messaging/messages/${deleted}`);
  }

  async #send(conversationId: string): Promise<void> {
    const n = this.made.send ?? 0;
    const path = `/v1/messaging/conversations/${conversationId}/messages`;
    const sent = await this.#make('send', 'POST', path, {
      body: `quiet ${n}`,
      client_message_id: `quiet-${conversationId}-${n}`,
    });
    this.acknowledged.push(String(sent.id));
    this.#messages.push(String(sent.id));
  }

  async #readNotification(): Promise<void> {
    const token = this.#token('ada');
    const list = '/v1/messaging/notifications?status=unseen&limit=1';
    const { data } = await this.#make('list', 'GET', list, undefined, token);
    const [first] = data as { id: string }[];
    if (first === undefined) return;
    const path = `/v1/messaging/notifications/${first.id}/actions/read`;
    await this.#make('read', 'POST', path, undefined, token);
  }

  async #make(
    kind: string,
    method: string,
    path: string,
    body?: object,
    token = this.#token('grace'),
  ): Promise<Record<string, unknown>> {
    const nodeOf = (failures: number) => {
      const nodes = this.#options.nodes();
      return nodes[(this.#rounds + failures) % nodes.length]!;
    };
    const answer = await answered(nodeOf, { method, path, body, token });
    this.made[kind] = (this.made[kind] ?? 0) + 1;
    return answer;
  }

  #token(name: 'ada' | 'grace'): string {
    return this.#options.nodes()[0]!.demo.users[name].access_token;
  }
}

/** Leaves processor time to the code under test. */
const PAUSE_MS = 50;
