import { setTimeout as pause } from 'node:timers/promises';
import { statement } from '../../src/platform/db/connection/statement.ts';
import type { TestCell } from './cells.ts';
import { historyProblems, type Received } from './check-delivery.ts';
import { SdkReader } from './sdk-reader.ts';
import type { Teardown } from './teardown.ts';
import { until } from './until.ts';

interface Acknowledged {
  readonly id: string;
  readonly sequence: number;
  /** The address of the cell that acted. */
  readonly url: string;
  readonly askedMs: number;
  readonly answeredMs: number;
}

/** The results from the answers of both cells. */
export interface Judgement {
  /** Acknowledged messages that are not there. */
  readonly lost: number;
  /** Numbers given to two messages. */
  readonly twice: number;
  /** Acknowledgements of a move's source after an acknowledgement of its target. */
  readonly bothOpen: number;
}

/**
 * An account with one conversation that moves between two cells. A sender at each goes on whatever
 * it is answered, so the judgement is about what clients see.
 */
export class BothCells {
  readonly id: string;
  readonly conversationId: string;
  readonly acknowledged = new Map<string, Acknowledged>();
  /** Attempts that were refused or not answered. */
  refused = 0;
  readonly #key: string;
  readonly #cells: readonly TestCell[];
  readonly #reader: SdkReader;
  #readsFrom: TestCell;
  #count = 0;
  #isOver = false;
  #failure: Error | undefined;
  /** The last answer other than 201, by address of a cell. */
  readonly #refusals = new Map<string, string>();
  /** Keys of messages whose last answer was not 201. */
  readonly #open = new Set<string>();

  static async create(t: Teardown, name: string, cells: readonly [TestCell, TestCell]): Promise<BothCells> {
    const [cell] = cells;
    const creation = ['account', 'create', '--name', name, '--plan', 'pro'];
    const { id } = (await cell.admin(...creation)) as Created;
    const { key } = (await cell.admin('key', 'create', '--account', id, '--name', 'Sender')) as Created;
    const { body } = await cell.call<Created>('POST', '/v1/messaging/conversations', {
      body: { type: 'group', title: 'Moving' },
      token: key,
      headers: { 'Service-Account': id },
    });
    return new BothCells(t, { id, key, conversationId: body.id }, cells);
  }

  /** Use `BothCells.create`. */
  private constructor(
    t: Teardown,
    { id, key, conversationId }: { id: string; key: string; conversationId: string },
    cells: readonly [TestCell, TestCell],
  ) {
    this.id = id;
    this.conversationId = conversationId;
    this.#key = key;
    this.#cells = cells;
    this.#readsFrom = cells[0];
    const conversationIds = [conversationId];
    this.#reader = new SdkReader({
      url: () => this.#readsFrom.url,
      account: id,
      token: key,
      conversationIds,
    });
    t.teardown(() => {
      this.#isOver = true;
      this.#reader.stop();
    });
  }

  /** Sends messages to a cell that has the account. */
  async send(count: number, cell: TestCell): Promise<void> {
    for (let n = 0; n < count; n++) await this.#send(`message-${this.#count++}`, cell, () => false);
  }

  /** Sends to both cells until `stop`, which makes the cell `at` acknowledge the last messages. */
  load(): { stop(at: TestCell): Promise<void> } {
    let isStopped = false;
    const senders = this.#cells.map(async (cell) => {
      while (!isStopped && !this.#isOver) {
        await this.#send(`message-${this.#count++}`, cell, () => isStopped);
        await pause(EVERY_MS);
      }
    });
    for (const sender of senders) {
      sender.catch((error: Error) => {
        this.#failure = error;
      });
    }
    return {
      stop: async (at) => {
        isStopped = true;
        await Promise.all(senders);
        for (const key of this.#open) await this.#send(key, at, () => false);
      },
    };
  }

  /** Resolves when the cell has acknowledged this many further messages. */
  async sends(more: number, cell: TestCell): Promise<void> {
    const count = () => [...this.acknowledged.values()].filter(({ url }) => url === cell.url).length;
    const goal = count() + more;
    await until(() => count() >= goal || this.#failure !== undefined, {
      what: () => `${more} more sends of ${this.id}: ${this.#refusals.get(cell.url)}`,
    });
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Resolves when the cell has refused a message that was sent after this call. */
  async refuses(cell: TestCell): Promise<string> {
    this.#refusals.delete(cell.url);
    return until(() => this.#refusals.get(cell.url), { what: `${cell.url} to refuse sends of ${this.id}` });
  }

  /**
   * Resolves when the nodes of the cell know that the account has left. Its rows are removed 35 s
   * after the move, and a socket whose account is removed sooner loses its conversations instead.
   */
  async leaves(cell: TestCell): Promise<void> {
    await until(async () => (await this.#try('after the move', cell)).status === ELSEWHERE, {
      what: `${cell.url} to know that ${this.id} has left`,
    });
  }

  /** Judges the move to `to` by the acknowledgements since `sinceMs`. */
  async judge(to: TestCell, sinceMs: number): Promise<Judgement> {
    const all = [...this.acknowledged.values()];
    const there = new Map(
      (await to.database.query(READ_MESSAGES, this.conversationId)).map(({ id, sequence }) => [id, sequence]),
    );
    const during = all.filter(({ askedMs }) => askedMs >= sinceMs);
    const openedMs = Math.min(
      ...during.filter(({ url }) => url === to.url).map(({ answeredMs }) => answeredMs),
    );
    return {
      lost: all.filter(({ id, sequence }) => there.get(id) !== sequence).length,
      twice: all.length - new Set(all.map(({ sequence }) => sequence)).size,
      bothOpen: during.filter(({ url, askedMs }) => url !== to.url && askedMs > openedMs).length,
    };
  }

  /** Compares what was read with the cell's contents, once all senders have stopped. */
  async problems(cell: TestCell): Promise<string[]> {
    this.#readsFrom = cell;
    const stored = await cell.database.query(READ_MESSAGES, this.conversationId);
    const found: string[] = [];
    if (stored.length !== this.acknowledged.size) {
      found.push(`${stored.length} messages, ${this.acknowledged.size} acknowledged`);
    }
    const last = stored.at(-1)?.sequence ?? 0;
    const history = (): Received[] => this.#reader.history.get(this.conversationId)!;
    await until(() => this.#reader.last(this.conversationId) >= last, {
      what: () => `the reader of ${this.id}: ${history().length} of ${last}, ${this.#reader.problems}`,
    }).catch((error: Error) => found.push(error.message));
    return [...found, ...historyProblems(history(), stored)].map((problem) => `${this.id}: ${problem}`);
  }

  async #send(key: string, cell: TestCell, isGivenUp: () => boolean): Promise<void> {
    this.#open.add(key);
    while (!this.#isOver) {
      const askedMs = performance.now();
      const answer = await this.#try(key, cell).catch((error: unknown) => {
        this.#refusals.set(cell.url, String(error));
      });
      if (answer?.status === 201) {
        const { id, sequence } = answer.body;
        this.acknowledged.set(id, { id, sequence, url: cell.url, askedMs, answeredMs: performance.now() });
        this.#open.delete(key);
        return;
      }
      this.refused += 1;
      if (answer !== undefined) {
        this.#refusals.set(cell.url, `${cell.url} ${answer.status} ${answer.text}`);
        if (!REFUSALS.has(answer.status)) throw new Error(this.#refusals.get(cell.url));
      }
      if (isGivenUp()) return;
      await pause(EVERY_MS);
    }
  }

  #try(key: string, cell: TestCell) {
    return cell.call<Created>('POST', `/v1/messaging/conversations/${this.conversationId}/messages`, {
      body: { client_message_id: key, body: key },
      token: this.#key,
      headers: { 'Service-Account': this.id },
    });
  }
}

interface Created {
  readonly id: string;
  readonly key: string;
  readonly sequence: number;
}

const EVERY_MS = 20;
/** The status of an account in the other cell. */
const ELSEWHERE = 421;
/** Statuses for unknown here, in the other cell, and on its way. */
const REFUSALS: ReadonlySet<number> = new Set([401, 404, ELSEWHERE, 503]);

const READ_MESSAGES = statement<[conversationId: string], Received>('test-read-moved-messages')`
  SELECT id, sequence FROM messages
  WHERE conversation_id = $1 AND sequence IS NOT NULL AND status = 'sent' AND kind = 'chat' ORDER BY sequence`;
