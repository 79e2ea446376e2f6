import type { Database } from '../../platform/db/database.ts';
import type { Tx } from '../../platform/db/handle.ts';
import { absorbed, BLOCK_MESSAGES, type Block, blocksOf, headOf, type IndexedText } from './block.ts';
import {
  type Changes,
  deleteBlocks,
  deleteChanges,
  deleteGone,
  insertBlocks,
  lockIndex,
  noteConversationsOf,
  readBlocksWith,
  readChanges,
  readHeads,
  readStandings,
  readTexts,
  readUnfilled,
  readWaiting,
  returnConversations,
  type Standing,
  type TextRange,
  type TextRow,
  type Waiting,
  writeProgress,
} from './index-store.ts';
import { lexemesOf } from './lexemes.ts';

/**
 * Waits for as many milliseconds, behind each part of a round. Resolves with whether the round goes
 * on.
 */
export type Rest = (ms: number) => Promise<boolean>;

export interface Indexed {
  /** How many messages were read. */
  readonly messages: number;
  /** For how long the index is to rest from the end of the round on, as it has recorded. */
  readonly restMs: number;
}

/**
 * Indexes the oldest changes. Returns undefined where another node is at it, the index rests, or
 * `rest` ended the round.
 *
 * Each part is a short transaction with a rest behind it: a round in one piece kept a core busy for
 * 250 ms, and the p99 of sends was twice as high. The changes leave the queue in the last
 * transaction. What an interrupted round has indexed is not indexed again by the next one, which
 * only looks at it.
 */
export async function indexSome(database: Database, rest: Rest): Promise<Indexed | undefined> {
  let beganMs = performance.now();
  const round = await database.transaction(beginRound);
  if (round === undefined) return undefined;
  let messages = 0;
  for (const part of round.parts()) {
    const read = await database.transaction((tx) => round.write(tx, part));
    if (read === undefined) return undefined;
    messages += read;
    const done = read + part.heads.length * HEAD_SIZE;
    if (!(await rest(round.restAfter(performance.now() - beganMs, done)))) {
      await database.transaction((tx) => writeProgress(tx, 0));
      return undefined;
    }
    beganMs = performance.now();
  }
  return database.transaction(async (tx) => {
    if (!(await lockIndex(tx))) return undefined;
    await round.end(tx);
    const restMs = round.restAfter(performance.now() - beganMs, 0);
    await writeProgress(tx, restMs, round.filledThrough);
    return { messages, restMs };
  });
}

async function beginRound(tx: Tx): Promise<Round | undefined> {
  if (!(await lockIndex(tx))) return undefined;
  const waiting = await readWaiting(tx);
  if (!waiting.is_due) return undefined;
  const round = new Round(await readChanges(tx, MAX_MESSAGES), waiting);
  if (!waiting.is_filled && round.size <= MAX_MESSAGES / 4) {
    round.fill(await readUnfilled(tx, FILLED_AT_ONCE));
  }
  await writeProgress(tx, CLAIM_MS);
  return round;
}

/** What one transaction indexes. */
interface Part {
  readonly heads: string[];
  readonly fresh: Map<string, Fresh>;
  readonly changed: { readonly conversationId: string; readonly id: string }[];
}

/** New messages of a conversation. */
interface Fresh {
  /** About how many. */
  readonly count: number;
  /** There may be more of them, up to all of the conversation. */
  readonly isWhole: boolean;
}

class Round {
  /** The progress of filling that is reached with this round; undefined: none. */
  filledThrough: string | null | undefined;
  readonly #changeIds: readonly number[];
  readonly #heads: Set<string>;
  readonly #fresh = new Map<string, Fresh>();
  readonly #changed: Part['changed'] = [];
  readonly #actors: Set<string>;
  /**
   * More arrives than the index keeps up with, something was left over, or the index is being
   * filled.
   */
  readonly #isTooMuch: boolean;
  /** Number of messages that were read so far. */
  #read = 0;

  constructor(changes: readonly Changes[], { lag, is_filled }: Waiting) {
    this.#changeIds = changes.map(({ id }) => id);
    for (const { sent_of, sent_ids, changed_ids, changed_of } of changes) {
      for (const [index, id] of sent_of.entries()) {
        this.#addFresh(id, { count: 1, isWhole: sent_ids[index] === '' });
      }
      for (const [index, id] of changed_ids.entries()) {
        this.#changed.push({ conversationId: changed_of[index]!, id });
      }
    }
    this.#heads = new Set(changes.flatMap(({ conversation_ids }) => conversation_ids));
    this.#actors = new Set(changes.flatMap(({ actor_ids }) => actor_ids));
    const arrivedInMs = Math.max((lag ?? 0) * 1_000, 1);
    this.#isTooMuch = !is_filled || this.size >= MAX_MESSAGES || this.size / arrivedInMs > MESSAGES_A_MS;
  }

  /** Messages and conversations that are left. */
  get size(): number {
    return [...this.#fresh.values()].reduce((sum, { count }) => sum + count, this.#heads.size);
  }

  /** Adds conversations from before search, the next FILLED_AT_ONCE or the last ones. */
  fill(ids: readonly string[]): void {
    for (const id of ids) {
      this.#addFresh(id, { count: 1, isWhole: true });
      this.#heads.add(id);
    }
    this.filledThrough = ids.length < FILLED_AT_ONCE ? null : ids.at(-1)!;
  }

  /** Yields what is left, about PART_MESSAGES at a time. */
  *parts(): Iterable<Part> {
    for (let part = this.#nextPart(); part !== undefined; part = this.#nextPart()) yield part;
  }

  #nextPart(): Part | undefined {
    const part: Part = { heads: [], fresh: new Map(), changed: [] };
    let size = 0;
    for (const id of this.#heads) {
      if (size >= PART_MESSAGES) return part;
      this.#heads.delete(id);
      part.heads.push(id);
      size += HEAD_SIZE;
    }
    for (const [id, fresh] of this.#fresh) {
      if (size >= PART_MESSAGES) return part;
      this.#fresh.delete(id);
      part.fresh.set(id, fresh);
      size += fresh.isWhole ? BLOCK_MESSAGES : depthOf(fresh);
    }
    while (this.#changed.length > 0) {
      if (size >= PART_MESSAGES) return part;
      part.changed.push(this.#changed.pop()!);
      size += CHANGED_SIZE;
    }
    return size === 0 ? undefined : part;
  }

  /** Returns how many messages it read; undefined if another node is at the index. */
  async write(tx: Tx, part: Part): Promise<number | undefined> {
    if (!(await lockIndex(tx))) return undefined;
    if (part.heads.length > 0) await writeHeads(tx, part.heads);
    const plan = await planOf(tx, part);
    if (plan.replaced.length > 0) await deleteBlocks(tx, plan.replaced);
    if (plan.ranges.length === 0) return 0;
    const rows = await readTexts(tx, plan.ranges);
    this.#read += rows.length;
    const byRange = Map.groupBy(rows, ({ place }) => place - 1);
    const unread: string[] = [];
    for (const [index, { conversationId, last, most }] of plan.ranges.entries()) {
      const isCut = last === null && byRange.get(index)?.length === most;
      if (isCut && !this.#goOnWith(conversationId, part)) unread.push(conversationId);
    }
    if (unread.length > 0) await returnConversations(tx, unread);
    const blocks = plan.blocksOf(byRange);
    if (blocks.length > 0) await insertBlocks(tx, blocks);
    return rows.length;
  }

  /**
   * Removes the changes of this round, and notes the conversations of actors whose name or address
   * changed.
   */
  async end(tx: Tx): Promise<void> {
    if (this.#actors.size > 0) await noteConversationsOf(tx, [...this.#actors]);
    await deleteChanges(tx, this.#changeIds);
  }

  /**
   * Up to MESSAGES_A_MS the index takes what it needs, and a tenth of a core where that is too
   * much. Returns milliseconds.
   */
  restAfter(workedMs: number, messages: number): number {
    const restMs = workedMs * REST;
    return Math.round(
      this.#isTooMuch ? restMs : Math.min(restMs, Math.max(0, messages / MESSAGES_A_MS - workedMs)),
    );
  }

  /**
   * Leaves what a part has not read of a conversation to a later part. Returns false where it does
   * not belong to this round.
   */
  #goOnWith(conversationId: string, part: Part): boolean {
    const fresh = part.fresh.get(conversationId)!;
    const left = fresh.isWhole ? fresh : { ...fresh, count: fresh.count - depthOf(fresh) };
    if (left.count <= 0 || this.#read >= MAX_MESSAGES) return false;
    this.#addFresh(conversationId, left);
    return true;
  }

  #addFresh(id: string, { count, isWhole }: Fresh): void {
    const before = this.#fresh.get(id);
    this.#fresh.set(id, {
      count: (before?.count ?? 0) + count,
      isWhole: isWhole || before?.isWhole === true,
    });
  }
}

/** Returns how many new messages of a conversation are read at once: full blocks. */
function depthOf({ count, isWhole }: Fresh): number {
  return isWhole
    ? PART_MESSAGES
    : Math.min(PART_MESSAGES, Math.ceil(count / BLOCK_MESSAGES) * BLOCK_MESSAGES);
}

async function writeHeads(tx: Tx, ids: readonly string[]): Promise<void> {
  await deleteGone(tx, ids);
  await deleteBlocks(
    tx,
    ids.map((conversationId) => ({ conversationId, first: 0 })),
  );
  const heads = (await readHeads(tx, ids)).map(({ id, account_id, title, names, created_at }) => {
    const subject = { conversationId: id, accountId: account_id, lexemes: lexemesOf(account_id) };
    return headOf(subject, [title ?? '', ...names], created_at);
  });
  await insertBlocks(tx, heads);
}

async function planOf(tx: Tx, { fresh, changed }: Part): Promise<Plan> {
  const plan = new Plan();
  const standings = fresh.size === 0 ? [] : await readStandings(tx, [...fresh.keys()]);
  for (const standing of standings) plan.addStanding(standing, fresh.get(standing.id));
  if (changed.length > 0) await addChanged(tx, plan, changed);
  return plan;
}

/** Adds the blocks that have a message which has changed since it was read for them. */
async function addChanged(tx: Tx, plan: Plan, changed: Part['changed']): Promise<void> {
  const found = await readBlocksWith(
    tx,
    changed.map(({ conversationId }) => conversationId),
    changed.map(({ id }) => id),
  );
  const ids = [...new Set(found.map((block) => block.conversation_id))].filter((id) => !plan.has(id));
  const standings = ids.length === 0 ? [] : await readStandings(tx, ids);
  for (const standing of standings) plan.addStanding(standing, undefined);
  for (const { conversation_id, first, last } of found) plan.rewrite(conversation_id, { first, last });
}

/** Which blocks a part writes, from which rows, and in place of which. */
class Plan {
  readonly ranges: TextRange[] = [];
  readonly replaced: { conversationId: string; first: number }[] = [];
  readonly #standings = new Map<string, Standing>();
  readonly #replaced = new Set<string>();

  has(conversationId: string): boolean {
    return this.#standings.has(conversationId);
  }

  /** `fresh`: the messages behind the last block; undefined: only earlier ones changed. */
  addStanding(standing: Standing, fresh: Fresh | undefined): void {
    this.#standings.set(standing.id, standing);
    const { id: conversationId, blocks, incomplete } = standing;
    const trailing = blocks ?? [];
    if (fresh !== undefined) this.#addFresh(standing, trailing, fresh);
    for (const block of incomplete ?? []) this.rewrite(conversationId, block);
  }

  #addFresh(
    { id: conversationId, purged_through }: Standing,
    trailing: NonNullable<Standing['blocks']>,
    fresh: Fresh,
  ): void {
    const oldest = Date.now() / 1_000 - ABSORBED_SECONDS;
    const young = trailing.findIndex(({ from }) => from < oldest);
    const candidates = young === -1 ? trailing : trailing.slice(0, young);
    const taken = candidates.slice(
      0,
      absorbed(
        candidates.map(({ messages }) => messages),
        fresh.isWhole ? BLOCK_MESSAGES : fresh.count,
      ),
    );
    for (const { first } of taken) this.#replace(conversationId, first);
    const next = (trailing[0]?.last ?? 0) + 1;
    const from = taken.at(-1)?.first ?? next;
    const first = Math.max(from, purged_through + 1);
    this.ranges.push({ conversationId, first, last: null, most: Math.max(0, next - first) + depthOf(fresh) });
  }

  /** A block is written again from the present rows. */
  rewrite(conversationId: string, { first, last }: { readonly first: number; readonly last: number }): void {
    const standing = this.#standings.get(conversationId);
    if (standing === undefined || !this.#replace(conversationId, first)) return;
    const begin = Math.max(first, standing.purged_through + 1);
    if (begin <= last) this.ranges.push({ conversationId, first: begin, last, most: last - begin + 1 });
  }

  /** Returns the blocks of all ranges. `rows`: by the place of their range. */
  blocksOf(rows: ReadonlyMap<number, readonly TextRow[]>): Block[] {
    return this.ranges.flatMap(({ conversationId, first, last }, index) => {
      const ofRange = rows.get(index) ?? [];
      const end = last ?? ofRange.at(-1)?.sequence;
      if (end === undefined) return [];
      const accountId = this.#standings.get(conversationId)!.account_id;
      const subject = { conversationId, accountId, lexemes: lexemesOf(accountId) };
      return [...blocksOf(subject, first, end, ofRange.map(indexedText))];
    });
  }

  #replace(conversationId: string, first: number): boolean {
    const key = `${conversationId} ${first}`;
    if (this.#replaced.has(key)) return false;
    this.#replaced.add(key);
    this.replaced.push({ conversationId, first });
    return true;
  }
}

function indexedText(row: TextRow): IndexedText {
  return {
    sequence: row.sequence,
    texts: row.is_shown ? [row.body, row.subject] : null,
    at: row.at,
    authorId: row.author_id,
    senderId: row.sender_id,
    hasFile: row.has_attachments,
  };
}

/** Messages of a round, about. */
export const MAX_MESSAGES = 2_048;
/** Messages of a part, about: some 5 ms of a core, for which sends wait. */
const PART_MESSAGES = 64;
/** What writing the head of a conversation costs, in messages. */
const HEAD_SIZE = 4;
/** What a changed message costs: its block has up to 16, some of which have changed too. */
const CHANGED_SIZE = 4;
/** The rate up to which everything is indexed within a second or so: 3,500 a second. */
const MESSAGES_A_MS = 3.5;
const REST = 9;
/** A round that has not ended by then belongs to a node that died, and another node begins one. */
const CLAIM_MS = 10_000;
const FILLED_AT_ONCE = 16;
/** Older blocks are not taken in: a block covers few days. */
const ABSORBED_SECONDS = 86_400;
