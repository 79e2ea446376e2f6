import type { ChildProcess } from 'node:child_process';
import type { Received } from './check-delivery.ts';
import { startChild } from './child.ts';
import type { Teardown } from './teardown.ts';

export interface SdkClientsOptions {
  readonly url: string;
  readonly account: string;
  readonly tokens: readonly string[];
  /** The conversations of each client, from the first message on. */
  readonly conversationIds: readonly (readonly string[])[];
}

/** The result of all clients, compared with Postgres. */
export interface SdkReport {
  /** Messages delivered to handlers, over all clients. */
  readonly delivered: number;
  /** Messages that the SDK delivered a second time. */
  readonly doubled: number;
  /** Messages in Postgres that were not delivered. */
  readonly missing: number;
  /** Clients that were interrupted since `watch`. */
  readonly interrupted: number;
  /** Connections that ended since `watch`, by close code. */
  readonly closed: Readonly<Record<string, number>>;
  readonly problems: readonly string[];
}

/** Orders to the child; each gets one answer, in order. */
export type Order =
  | { readonly op: 'open'; readonly options: SdkClientsOptions }
  | { readonly op: 'watch' }
  | { readonly op: 'stall'; readonly count: number }
  | { readonly op: 'unstall' }
  | { readonly op: 'finish'; readonly stored: Readonly<Record<string, readonly Received[]>> };

/** Messages from the child: an answer, or the number of a message that all readers have. */
export type Word =
  | { readonly answer: SdkReport | null }
  | { readonly failed: string }
  | { readonly receivedByAll: { readonly conversationId: string; readonly sequence: number } };

/**
 * Many clients of the SDK in a separate process, each with its own connection, so that counting
 * their messages does not delay the server under test.
 */
export class SdkClients {
  /** Requested by `stall`: the last message by conversation that all readers have received. */
  readonly receivedByAll = new Map<string, number>();
  readonly #child: ChildProcess;
  readonly #waiting: { resolve: (report: SdkReport | null) => void; reject: (error: Error) => void }[] = [];

  /** Resolves when all clients are live. */
  static async open(t: Teardown, options: SdkClientsOptions): Promise<SdkClients> {
    const child = startChild(t, 'sdk-clients-child.ts', [], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
    const clients = new SdkClients(child.process);
    await clients.#order({ op: 'open', options });
    return clients;
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (word: Word) => {
      if ('receivedByAll' in word)
        this.receivedByAll.set(word.receivedByAll.conversationId, word.receivedByAll.sequence);
      else if ('failed' in word) this.#waiting.shift()?.reject(new Error(word.failed));
      else this.#waiting.shift()?.resolve(word.answer);
    });
    child.on('close', () => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error('the clients are gone'));
    });
  }

  /** Makes the report count interruptions and closes from here on. */
  async watch(): Promise<void> {
    await this.#order({ op: 'watch' });
  }

  /** Makes the first `count` clients stop reading from their connections. */
  async stall(count: number): Promise<void> {
    this.receivedByAll.clear();
    await this.#order({ op: 'stall', count });
  }

  /** Makes the stalled clients read again. */
  async unstall(): Promise<void> {
    await this.#order({ op: 'unstall' });
  }

  /**
   * Waits until each client has all messages of its conversations, and returns the report. `stored`
   * is in order.
   */
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
