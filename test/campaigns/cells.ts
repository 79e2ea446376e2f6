import { setTimeout as pause } from 'node:timers/promises';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { startAdmin } from '../support/admin-command.ts';
import { removeLeft, startCells, type TestCell } from '../support/cells.ts';
import { historyProblems, type Received } from '../support/check-delivery.ts';
import type { Random } from '../support/random.ts';
import { SdkReader } from '../support/sdk-reader.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

export interface CellsOptions extends Seeded {
  readonly accounts: number;
  /** Messages of each account before it moves. */
  readonly messages: number;
  /** Messages a second of all accounts together. */
  readonly perSecond: number;
  /** How often a move is killed before it may end, for every third account. */
  readonly kills: number;
  /** Whether the accounts move back. */
  readonly isReturn: boolean;
  /** Default: two of its own. */
  readonly installations?: readonly [TestCell, TestCell];
}

export interface CellsFigures extends Found {
  readonly moves: number;
  readonly kills: number;
  readonly acknowledged: number;
  /** Attempts that were refused or not answered, and repeated. */
  readonly retried: number;
  /** Milliseconds in which changes were refused, by move that was not killed. */
  readonly refusedMs: readonly number[];
}

/**
 * Accounts move between two installations while messages are sent in all of them, and back; some of
 * the moves are killed and run again. Each move compares all rows. Nothing that was acknowledged is
 * lost, in either installation, and a reader of the SDK has every message once, in order.
 */
export const cells = campaign({
  whole: () => ({ accounts: 10, messages: 300, perSecond: 40, kills: 2, isReturn: true }),
  run,
});

async function run(
  t: Teardown,
  { accounts, messages, perSecond, kills, isReturn, installations }: CellsOptions,
  random: Random,
): Promise<CellsFigures> {
  const [first, second] = installations ?? (await startCells(t));
  const all: MovingAccount[] = [];
  for (let n = 0; n < accounts; n++) all.push(await MovingAccount.create(t, n, [first, second]));
  for (const account of all) await account.send(messages);
  const loads = all.map((account) => account.load(perSecond / accounts));
  const figures = { moves: 0, kills: 0, refusedMs: [] as number[] };
  const move = async (account: MovingAccount, [from, to]: readonly [TestCell, TestCell], most: number) => {
    await from.admin('account', 'move-out', '--id', account.id, '--to', to.url);
    const takes = () => take(account.id, from, to);
    for (let n = 0; n < most; n++) {
      const { child, ended } = takes();
      await Promise.race([ended, pause(300 + random.below(2_500))]);
      if (child.exitCode === null) figures.kills += 1;
      child.kill('SIGKILL');
      await ended;
    }
    const { ended, out, err } = takes();
    const code = await ended;
    if (code !== 0) throw new Error(`the move ended with ${code}: ${err()}`);
    if (most === 0) figures.refusedMs.push((JSON.parse(out()) as { refused_ms: number }).refused_ms);
    figures.moves += 1;
    await account.sends(10);
  };
  for (const [n, account] of all.entries()) await move(account, [first, second], n % 3 === 2 ? kills : 0);
  for (const account of isReturn ? all : []) {
    await removeLeft(first, account.id);
    await move(account, [second, first], 0);
  }
  for (const account of all) await account.sends(10);
  for (const load of loads) await load.stop();
  const problems: string[] = [];
  for (const account of all) problems.push(...(await account.problems(isReturn ? first : second)));
  return {
    ...figures,
    acknowledged: all.reduce((sum, { acknowledged }) => sum + acknowledged.size, 0),
    retried: all.reduce((sum, { retried }) => sum + retried, 0),
    problems,
  };
}

/** An account with one conversation, its sender and its reader. */
class MovingAccount {
  readonly id: string;
  readonly conversationId: string;
  /** Numbers by the ids of messages that were answered 201. */
  readonly acknowledged = new Map<string, number>();
  retried = 0;
  readonly #key: string;
  readonly #cells: readonly TestCell[];
  readonly #reader: SdkReader;
  /** Where requests go; a refusal says where else. */
  #url: string;
  #count = 0;
  /** Set with the end of the test, which may have failed in the middle of a load. */
  #isOver = false;
  #failure: Error | undefined;
  /** The last answer that was not 201, and of which cell. */
  #refusal = '';

  static async create(t: Teardown, n: number, cells: readonly [TestCell, TestCell]): Promise<MovingAccount> {
    const [cell] = cells;
    const { id } = (await cell.admin(
      'account',
      'create',
      '--name',
      `Account ${n}`,
      '--plan',
      'pro',
    )) as Created;
    const made = (await cell.admin('key', 'create', '--account', id, '--name', 'Sender')) as Created;
    const { body } = await cell.call<Created>('POST', '/v1/messaging/conversations', {
      body: { type: 'group', title: 'Moving' },
      token: made.key,
      headers: { 'Service-Account': id },
    });
    return new MovingAccount(t, { id, key: made.key, conversationId: body.id }, cells);
  }

  private constructor(
    t: Teardown,
    {
      id,
      key,
      conversationId,
    }: { readonly id: string; readonly key: string; readonly conversationId: string },
    cells: readonly [TestCell, TestCell],
  ) {
    this.id = id;
    this.conversationId = conversationId;
    this.#key = key;
    this.#cells = cells;
    this.#url = cells[0].url;
    const conversationIds = [conversationId];
    this.#reader = new SdkReader({ url: () => this.#url, account: id, token: key, conversationIds });
    t.teardown(() => {
      this.#isOver = true;
      this.#reader.stop();
    });
  }

  /** Sends messages one after the other, each until it is acknowledged. */
  async send(count: number): Promise<void> {
    for (let n = 0; n < count; n++) await this.#send(`message-${this.#count++}`);
  }

  load(perSecond: number): { stop(): Promise<void> } {
    let isStopped = false;
    const run = async () => {
      while (!isStopped) {
        await this.send(1);
        await pause(1_000 / perSecond);
      }
    };
    const running = run();
    running.catch((error: Error) => {
      this.#failure = error;
    });
    return {
      stop() {
        isStopped = true;
        return running;
      },
    };
  }

  /** Resolves when `more` further messages are acknowledged. */
  async sends(more: number): Promise<void> {
    const goal = this.acknowledged.size + more;
    const isDone = () => this.acknowledged.size >= goal || this.#failure !== undefined;
    await until(isDone, { what: () => `${more} more sends of ${this.id}: ${this.#refusal}` });
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Compares what was acknowledged and read with what the cell has. */
  async problems(cell: TestCell): Promise<string[]> {
    const stored = await cell.database.query(READ_MESSAGES, this.conversationId);
    const there = new Map(stored.map((message) => [message.id, message.sequence]));
    const lost = [...this.acknowledged].filter(([id, sequence]) => there.get(id) !== sequence);
    const found = lost.map(([id, sequence]) => `${id} was acknowledged as ${sequence}: ${there.get(id)}`);
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

  async #send(key: string): Promise<void> {
    while (!this.#isOver) {
      const answer = await this.#try(key).catch((error: unknown) => {
        this.#refusal = String(error);
      });
      if (answer?.status === 201) {
        this.acknowledged.set(answer.body.id, answer.body.sequence);
        return;
      }
      this.retried += 1;
      if (answer) this.#refusal = `${this.#url} ${answer.status} ${answer.text}`;
      const { error } = answer?.body ?? {};
      if (answer?.status === 421) this.#url = this.#cells.find(({ url }) => url === error?.cell_url)!.url;
      else if (answer !== undefined && answer.status !== 503) {
        throw new Error(`${this.id}: ${answer.status} ${JSON.stringify(answer.body)}`);
      }
      await pause(20);
    }
  }

  #try(key: string) {
    const cell = this.#cells.find(({ url }) => url === this.#url)!;
    return cell.call<Created & { error?: { cell_url?: string } }>(
      'POST',
      `/v1/messaging/conversations/${this.conversationId}/messages`,
      {
        body: { client_message_id: key, body: key },
        token: this.#key,
        headers: { 'Service-Account': this.id },
      },
    );
  }
}

interface Created {
  readonly id: string;
  readonly key: string;
  readonly sequence: number;
}

/** Runs the command as an operator does, so that it can be killed. */
function take(id: string, from: TestCell, { config }: TestCell) {
  return startAdmin(['account', 'move-in', '--id', id, '--from', from.envFile], config);
}

const READ_MESSAGES = statement<[conversationId: string], Received>('test-read-moved-messages')`
  SELECT id, sequence FROM messages
  WHERE conversation_id = $1 AND sequence IS NOT NULL AND status = 'sent' AND kind = 'chat' ORDER BY sequence`;
