import type { ChildProcess } from 'node:child_process';
import type { Received } from './check-delivery.ts';
import { startChild } from './child.ts';
import type { Teardown } from './teardown.ts';

export interface SdkClientsOptions {
  readonly url: string;
  readonly account: string;
  readonly tokens: readonly string[];
  /** Of each client, from the first message on. */
  readonly conversationIds: readonly (readonly string[])[];
}

/** What became of all of them, against what Postgres has. */
export interface SdkReport {
  /** Messages handed over, over all clients. */
  readonly delivered: number;
  /** Of these, handed over once more by the SDK. */
  readonly doubled: number;
  /** In Postgres, and not handed over. */
  readonly missing: number;
  /** Clients that were not live all the time since `watch`. */
  readonly interrupted: number;
  /** Connections that ended since `watch`, by close code. */
  readonly closed: Readonly<Record<string, number>>;
  readonly problems: readonly string[];
}

/** To the child; each is answered once, in order. */
export type Order =
  | { readonly op: 'open'; readonly options: SdkClientsOptions }
  | { readonly op: 'watch' }
  | { readonly op: 'stall'; readonly count: number }
  | { readonly op: 'unstall' }
  | { readonly op: 'finish'; readonly stored: Readonly<Record<string, readonly Received[]>> };

/** From the child: an answer, or word of a message that all who read have. */
export type Word =
  | { readonly answer: SdkReport | null }
  | { readonly failed: string }
  | { readonly everybody: { readonly conversationId: string; readonly sequence: number } };

/**
 * Many clients of the SDK in a process of their own, each with a connection of its own: who counts what
 * arrives must not be what holds it up.
 */
export class SdkClients {
  /** Asked for with `stall`: by conversation, the last message that all who read have been handed. */
  readonly everybody = new Map<string, number>();
  readonly #child: ChildProcess;
  readonly #waiting: { resolve: (report: SdkReport | null) => void; reject: (error: Error) => void }[] = [];

  /** Resolves when all of them are live. */
  static async open(t: Teardown, options: SdkClientsOptions): Promise<SdkClients> {
    const child = startChild(t, 'sdk-clients-child.ts', [], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
    const clients = new SdkClients(child.process);
    await clients.#order({ op: 'open', options });
    return clients;
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (word: Word) => {
      if ('everybody' in word) this.everybody.set(word.everybody.conversationId, word.everybody.sequence);
      else if ('failed' in word) this.#waiting.shift()?.reject(new Error(word.failed));
      else this.#waiting.shift()?.resolve(word.answer);
    });
    child.on('close', () => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error('the clients are gone'));
    });
  }

  /** Counts what the report says of interruptions and ends from here on. */
  async watch(): Promise<void> {
    await this.#order({ op: 'watch' });
  }

  /** The first `count` clients read nothing more from the connections that they have. */
  async stall(count: number): Promise<void> {
    this.everybody.clear();
    await this.#order({ op: 'stall', count });
  }

  /** They read again. */
  async unstall(): Promise<void> {
    await this.#order({ op: 'unstall' });
  }

  /** Waits until each has all of its conversations, and answers how it got there. `stored` in order. */
  async finish(stored: ReadonlyMap<string, readonly Received[]>): Promise<SdkReport> {
    const report = await this.#order({ op: 'finish', stored: Object.fromEntries(stored) });
    if (report === null) throw new Error('the clients did not report');
    return report;
  }

  #order(order: Order): Promise<SdkReport | null> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#child.send(order, (error) => error === null || reject(error));
    });
  }
}
