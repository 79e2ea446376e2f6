import { startAdmin } from '../support/admin-command.ts';
import { BothCells } from '../support/both-cells.ts';
import { type ProxiedCell, removeLeft, startCells, type TestCell, throughProxy } from '../support/cells.ts';
import type { Random } from '../support/random.ts';
import type { Fate, PassingStatement } from '../support/statement-proxy.ts';
import type { Teardown } from '../support/teardown.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface CellsOptions extends Seeded {
  readonly moves: number;
  readonly accounts: number;
  /** Messages of each account before it moves. */
  readonly messages: number;
  /** Default: two installations of its own. */
  readonly installations?: readonly [TestCell, TestCell];
}

interface CellsFigures extends Found {
  readonly moves: number;
  /** Number of commands by the way they ended. */
  readonly ends: Readonly<Record<End, number>>;
  /** Faults by kind, and by the part of the move in which they happened. */
  readonly faults: Readonly<Record<string, number>>;
  readonly acknowledged: number;
  /** Attempts that were refused or not answered, and repeated. */
  readonly refused: number;
  readonly lost: number;
  readonly twice: number;
  readonly bothOpen: number;
  /** Milliseconds for which changes were refused, by move without a fault. */
  readonly refusedMs: readonly number[];
}

/** `goes on`: it failed, and the account is in use at the source. `unsettled`: run it again. */
type End = 'moved' | 'goes on' | 'unsettled' | 'killed';

/**
 * Accounts move between two installations and back while messages are sent to both. Connections are
 * cut, statements delayed and the command killed at any statement of a move, or of its continuation
 * after a fault; then it is run again. Each move compares all rows. No acknowledged message is
 * lost, no number is given twice, the source acknowledges nothing once the target has, and a reader
 * of the SDK has every message once, in order.
 */
export const cells = campaign({ whole: () => ({ moves: 210, accounts: 5, messages: 200 }), run });

async function run(
  t: Teardown,
  { moves, accounts, messages, installations }: CellsOptions,
  random: Random,
): Promise<CellsFigures> {
  const [first, second] = installations ?? (await startCells(t));
  const both = [await throughProxy(t, first), await throughProxy(t, second)] as const;
  const faults = new Faults(random);
  for (const { proxy } of both) proxy.onStatement = (passing) => faults.decide(passing);
  const all: BothCells[] = [];
  for (let n = 0; n < accounts; n++) {
    const account = await BothCells.create(t, `Account ${n}`, [first, second]);
    await account.send(messages, first);
    all.push(account);
  }
  const figures = {
    ends: { moved: 0, 'goes on': 0, unsettled: 0, killed: 0 },
    lost: 0,
    twice: 0,
    bothOpen: 0,
    refusedMs: [] as number[],
    problems: [] as string[],
  };
  for (let n = 0; n < moves; n++) {
    const account = all[n % accounts]!;
    const isBack = Math.floor(n / accounts) % 2 === 1;
    const [from, to] = isBack ? [both[1], both[0]] : both;
    await from.admin('account', 'move-out', '--id', account.id, '--to', to.url);
    const sinceMs = performance.now();
    const load = account.load();
    await account.sends(3, from);
    // The first move shows the number of statements.
    const most = n % EVERY_PLAIN === 0 ? 0 : 1 + random.below(MOST_FAULTED);
    let [end, wasKilled]: [End, boolean] = ['killed', false];
    for (let tries = 0; end !== 'moved'; tries++) {
      const isKill = faults.arm(tries < most);
      const done = await (isKill ? runKilled(account, [from, to], faults) : runHere(account, from, to));
      end = done.end;
      if (tries >= most && end !== 'moved') throw new Error(`move ${n}, without a fault: ${done.reason}`);
      wasKilled ||= end === 'killed';
      figures.ends[end] += 1;
      if (end === 'goes on' && !wasKilled) await account.sends(1, from);
      if (most === 0) figures.refusedMs.push(done.refusedMs);
    }
    await account.sends(3, to);
    await load.stop(to);
    const found = await account.judge(to, sinceMs);
    figures.bothOpen += found.bothOpen;
    if (Object.values(found).some((count) => count > 0)) {
      figures.problems.push(`move ${n} of ${account.id}: ${JSON.stringify(found)}`);
    }
    await account.leaves(from);
    await removeLeft(from, account.id);
  }
  for (const [n, account] of all.entries()) {
    const cell = Math.ceil((moves - n) / accounts) % 2 === 1 ? second : first;
    const { lost, twice } = await account.judge(cell, 0);
    figures.lost += lost;
    figures.twice += twice;
    figures.problems.push(...(await account.problems(cell)));
  }
  return {
    moves,
    ...figures,
    faults: faults.counts,
    acknowledged: all.reduce((sum, { acknowledged }) => sum + acknowledged.size, 0),
    refused: all.reduce((sum, { refused }) => sum + refused, 0),
  };
}

interface Done {
  readonly end: End;
  readonly reason?: string;
  readonly refusedMs: number;
}

async function runHere({ id }: BothCells, from: ProxiedCell, to: ProxiedCell): Promise<Done> {
  try {
    const moved = await to.admin('account', 'move-in', '--id', id, '--from', from.envFile);
    return { end: 'moved', refusedMs: (moved as { refused_ms: number }).refused_ms };
  } catch (error) {
    const reason = (error as Error).message;
    return { end: failed(reason), reason, refusedMs: 0 };
  }
}

/** Runs the command in a separate process, which a fault may kill. */
async function runKilled(
  { id }: BothCells,
  [from, to]: readonly [ProxiedCell, ProxiedCell],
  faults: Faults,
): Promise<Done> {
  const { child, ended, err } = startAdmin(
    ['account', 'move-in', '--id', id, '--from', from.envFile],
    to.config,
  );
  faults.kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  const code = await ended;
  if (child.signalCode !== null) return { end: 'killed', refusedMs: 0 };
  return { end: code === 0 ? 'moved' : failed(err()), reason: err(), refusedMs: 0 };
}

function failed(message: string): End {
  if (/is open at|has left|differs after/.test(message)) throw new Error(message);
  return message.includes('run the command again') ? 'unsettled' : 'goes on';
}

/** Parts that begin with the command, with the closing of the account, and with its arrival. */
const PARTS = { all: 'pg_try_advisory_lock', closing: 'closing', arrived: 'arrived' } as const;
/** Includes the commit of the arrival, and the statements after a fault. */
type Part = keyof typeof PARTS | 'commit' | 'again';

interface Fault {
  readonly kind: string;
  readonly part: Part;
  /** The number of the statement within its part. */
  readonly at: number;
}

/** Draws faults, which happen at statements of the sessions that move an account. */
class Faults {
  readonly counts: Record<string, number> = {};
  kill: () => Promise<void> = async () => {};
  readonly #random: Random;
  readonly #sessions = new WeakSet<object>();
  /** Statements of the latest command, by part. */
  readonly #seen = new Map<Part, number>();
  /** Statements of the longest command so far. */
  readonly #most = new Map<Part, number>();
  #armed: Fault[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  /** Returns whether a fault kills the command. */
  arm(isFaulted: boolean): boolean {
    this.#seen.clear();
    this.#armed = [];
    if (isFaulted) {
      const part = this.#random.pick(['all', 'closing', 'arrived', 'commit'] as const);
      const most = this.#random.pick([FEW_STATEMENTS, this.#most.get(part) ?? 1]);
      this.#armed.push(this.#draw(part, part === 'commit' ? 1 : most));
      // Adds another fault while the command goes on.
      if (this.#random.below(2) === 0) {
        this.#armed.push(this.#draw('again', this.#random.pick([FEW_STATEMENTS, MANY_STATEMENTS])));
      }
    }
    return this.#armed.some(({ kind }) => kind.startsWith('kill'));
  }

  async decide({ text, session }: PassingStatement): Promise<Fate> {
    if (text.includes(PARTS.all)) this.#sessions.add(session);
    if (!this.#sessions.has(session)) return 'pass';
    const isState = text.includes('INSERT INTO account_moves');
    for (const [part, sign] of Object.entries(PARTS) as [Part, string][]) {
      if (part === 'all' || this.#seen.has(part) || (isState && text.includes(sign))) this.#count(part);
    }
    if (this.#seen.has('arrived') && /^Q.{4}commit/is.test(text)) this.#count('commit');
    if (this.#seen.has('again')) this.#count('again');
    const [fault] = this.#armed;
    if (fault === undefined || (this.#seen.get(fault.part) ?? 0) < fault.at) return 'pass';
    this.#armed.shift();
    this.#seen.set('again', 0);
    for (const name of [fault.kind, `in ${fault.part}`]) this.counts[name] = (this.counts[name] ?? 0) + 1;
    const [act, when] = fault.kind.split(' ');
    const delayMs = LEAST_MS + this.#random.below(MORE_MS);
    if (act === 'delay') return { delayMs, isLate: false };
    if (act === 'kill') await this.kill();
    return when === 'late' ? { delayMs, isLate: true } : when === 'before' ? 'cut before' : 'cut after';
  }

  #draw(part: Part, statements: number): Fault {
    return { kind: this.#random.pick(KINDS), part, at: 1 + this.#random.below(statements) };
  }

  #count(part: Part): void {
    const count = (this.#seen.get(part) ?? 0) + 1;
    this.#seen.set(part, count);
    this.#most.set(part, Math.max(this.#most.get(part) ?? 0, count));
  }
}

const KINDS: readonly string[] = [
  'cut before',
  'cut after',
  'cut late',
  'delay',
  'kill before',
  'kill after',
  'kill late',
];
/** Parts begin with the most important statements: the locks, the fence, the target's commit. */
const FEW_STATEMENTS = 12;
const MANY_STATEMENTS = 200;
const LEAST_MS = 50;
const MORE_MS = 400;
/** One move in this many has no fault. */
const EVERY_PLAIN = 10;
/** Maximum number of commands of a move that have a fault. */
const MOST_FAULTED = 2;
