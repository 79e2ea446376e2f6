import type { Tx } from '../db/handle.ts';
import { absorbed, type Block, blocksOf, headOf, type IndexedText } from './block.ts';
import {
  type Changes,
  deleteBlocks,
  deleteGone,
  insertBlocks,
  lockIndex,
  noteConversationsOf,
  readBlocksWith,
  readHeads,
  readStandings,
  readTexts,
  readUnfilled,
  returnConversations,
  type Standing,
  type TextRange,
  type TextRow,
  takeChanges,
  type Waiting,
  writeProgress,
} from './index-store.ts';
import { lexemesOf } from './lexemes.ts';

/**
 * Indexes the oldest changes in this transaction. Returns how many messages it read, and for how long the index is to rest
 * from then on, as it has recorded; undefined where another node is at it, or the index rests.
 */
export async function indexSome(tx: Tx): Promise<{ messages: number; restMs: number } | undefined> {
  const beganMs = performance.now();
  const waiting = await lockIndex(tx);
  if (waiting === undefined) return undefined;
  const round = new Round(tx, await takeChanges(tx, MAX_MESSAGES));
  const filled = waiting.is_filled || round.size > MAX_MESSAGES / 4 ? undefined : await round.fill();
  const messages = await round.run();
  const restMs = restAfter(performance.now() - beganMs, round.size, waiting);
  await writeProgress(tx, restMs, filled);
  return { messages, restMs };
}

/**
 * Up to MESSAGES_A_MS the index takes what it needs. Where more arrives, or left something over, or while it is filled, it
 * takes a tenth of a core.
 */
function restAfter(workedMs: number, taken: number, { lag, is_filled }: Waiting): number {
  const arrivedInMs = Math.max((lag ?? 0) * 1_000, 1);
  const isTooMuch = !is_filled || taken >= MAX_MESSAGES || taken / arrivedInMs > MESSAGES_A_MS;
  const restMs = workedMs * REST;
  return Math.round(isTooMuch ? restMs : Math.min(restMs, Math.max(0, taken / MESSAGES_A_MS - workedMs)));
}

class Round {
  readonly #tx: Tx;
  /** Conversations with new messages: about how many. */
  readonly #fresh = new Map<string, number>();
  readonly #changed: { conversationId: string; id: string }[] = [];
  readonly #heads: Set<string>;
  readonly #actors: Set<string>;

  constructor(tx: Tx, changes: readonly Changes[]) {
    this.#tx = tx;
    for (const { sent_of, sent_ids, changed_ids, changed_of } of changes) {
      for (const [index, id] of sent_of.entries()) this.#addFresh(id, sent_ids[index] === '' ? WHOLE : 1);
      for (const [index, id] of changed_ids.entries()) {
        this.#changed.push({ conversationId: changed_of[index]!, id });
      }
    }
    this.#heads = new Set(changes.flatMap(({ conversation_ids }) => conversation_ids));
    this.#actors = new Set(changes.flatMap(({ actor_ids }) => actor_ids));
  }

  get size(): number {
    return [...this.#fresh.values()].reduce((sum, count) => sum + count, this.#heads.size);
  }

  /** Adds conversations from before search. Returns the progress that is reached with this round. */
  async fill(): Promise<string | null> {
    const ids = await readUnfilled(this.#tx, FILLED_AT_ONCE);
    for (const id of ids) {
      this.#addFresh(id, WHOLE);
      this.#heads.add(id);
    }
    return ids.length < FILLED_AT_ONCE ? null : ids.at(-1)!;
  }

  /** Returns how many messages it read. */
  async run(): Promise<number> {
    const tx = this.#tx;
    if (this.#actors.size > 0) await noteConversationsOf(tx, [...this.#actors]);
    if (this.#heads.size > 0) await this.#writeHeads([...this.#heads]);
    const standings = this.#fresh.size === 0 ? [] : await readStandings(tx, [...this.#fresh.keys()]);
    const plan = new Plan();
    for (const standing of standings) plan.addStanding(standing, this.#fresh.get(standing.id)!);
    if (this.#changed.length > 0) await this.#addChanged(plan);
    if (plan.ranges.length === 0) return 0;

    const limit = Math.max(MIN_OF_RANGE, Math.ceil(MAX_MESSAGES / plan.ranges.length));
    if (plan.replaced.length > 0) await deleteBlocks(tx, plan.replaced);
    let messages = 0;
    const together = Math.max(1, Math.floor(ROWS_AT_ONCE / limit));
    for (let start = 0; start < plan.ranges.length; start += together) {
      const ranges = plan.ranges.slice(start, start + together);
      const rows = await readTexts(tx, ranges, limit);
      const byRange = Map.groupBy(rows, ({ place }) => place - 1);
      const unread = ranges.filter((_, index) => byRange.get(index)?.length === limit);
      if (unread.length > 0) await returnConversations(tx, conversationsOf(unread));
      await this.#write(plan.blocksOf(ranges, byRange));
      messages += rows.length;
    }
    return messages;
  }

  /** A few at a time: everything else of the node waits while their words are found. */
  async #write(blocks: Iterable<Block>): Promise<void> {
    let some: Block[] = [];
    for (const block of blocks) {
      some.push(block);
      if (some.length < BLOCKS_AT_ONCE) continue;
      await insertBlocks(this.#tx, some);
      some = [];
    }
    if (some.length > 0) await insertBlocks(this.#tx, some);
  }

  #addFresh(id: string, count: number): void {
    this.#fresh.set(id, (this.#fresh.get(id) ?? 0) + count);
  }

  async #writeHeads(ids: readonly string[]): Promise<void> {
    const tx = this.#tx;
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

  /** Blocks that have a message which has changed since it was read for them. */
  async #addChanged(plan: Plan): Promise<void> {
    const found = await readBlocksWith(
      this.#tx,
      this.#changed.map(({ conversationId }) => conversationId),
      this.#changed.map(({ id }) => id),
    );
    const ids = [...new Set(found.map((block) => block.conversation_id))].filter((id) => !plan.has(id));
    const standings = ids.length === 0 ? [] : await readStandings(this.#tx, ids);
    for (const standing of standings) plan.addStanding(standing, 0);
    for (const { conversation_id, first, last } of found) plan.rewrite(conversation_id, { first, last });
  }
}

/** Which blocks a round writes, from which rows, and in place of which. */
class Plan {
  readonly ranges: TextRange[] = [];
  readonly replaced: { conversationId: string; first: number }[] = [];
  readonly #standings = new Map<string, Standing>();
  readonly #replaced = new Set<string>();

  has(conversationId: string): boolean {
    return this.#standings.has(conversationId);
  }

  /** `fresh`: about how many messages are behind the last block; 0: only earlier ones changed. */
  addStanding(standing: Standing, fresh: number): void {
    this.#standings.set(standing.id, standing);
    const { id: conversationId, blocks, incomplete } = standing;
    const trailing = blocks ?? [];
    if (fresh > 0) this.#addFresh(standing, trailing, fresh);
    for (const block of incomplete ?? []) this.rewrite(conversationId, block);
  }

  #addFresh(
    { id: conversationId, purged_through }: Standing,
    trailing: NonNullable<Standing['blocks']>,
    fresh: number,
  ): void {
    const oldest = Date.now() / 1_000 - ABSORBED_SECONDS;
    const young = trailing.findIndex(({ from }) => from < oldest);
    const candidates = young === -1 ? trailing : trailing.slice(0, young);
    const taken = candidates.slice(
      0,
      absorbed(
        candidates.map(({ messages }) => messages),
        fresh,
      ),
    );
    for (const { first } of taken) this.#replace(conversationId, first);
    const from = taken.at(-1)?.first ?? (trailing[0]?.last ?? 0) + 1;
    this.ranges.push({ conversationId, first: Math.max(from, purged_through + 1), last: null });
  }

  /** A block is written again from the present rows. */
  rewrite(conversationId: string, { first, last }: { readonly first: number; readonly last: number }): void {
    const standing = this.#standings.get(conversationId);
    if (standing === undefined || !this.#replace(conversationId, first)) return;
    const begin = Math.max(first, standing.purged_through + 1);
    if (begin <= last) this.ranges.push({ conversationId, first: begin, last });
  }

  /** Yields the blocks of these ranges. `rows`: by the place of their range. */
  *blocksOf(ranges: readonly TextRange[], rows: ReadonlyMap<number, readonly TextRow[]>): Iterable<Block> {
    for (const [index, { conversationId, first, last }] of ranges.entries()) {
      const ofRange = rows.get(index) ?? [];
      const end = last ?? ofRange.at(-1)?.sequence;
      if (end === undefined) continue;
      const accountId = this.#standings.get(conversationId)!.account_id;
      const subject = { conversationId, accountId, lexemes: lexemesOf(accountId) };
      yield* blocksOf(subject, first, end, ofRange.map(indexedText));
    }
  }

  #replace(conversationId: string, first: number): boolean {
    const key = `${conversationId} ${first}`;
    if (this.#replaced.has(key)) return false;
    this.#replaced.add(key);
    this.replaced.push({ conversationId, first });
    return true;
  }
}

function conversationsOf(ranges: readonly TextRange[]): string[] {
  return [...new Set(ranges.map(({ conversationId }) => conversationId))];
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
/** The rate up to which everything is indexed within a second or so: 3,500 a second. */
const MESSAGES_A_MS = 3.5;
const REST = 9;
/** Rows that are read together, so that neither Postgres nor the node is held up by a whole round at once. */
const ROWS_AT_ONCE = 256;
/** Up to 256 messages, whose words take 3 ms or so. */
const BLOCKS_AT_ONCE = 16;
/** Rows that are read of each range at least: a full block and what it may take in. */
const MIN_OF_RANGE = 64;
/** The count of a conversation that is indexed from where it stands. */
const WHOLE = 16;
const FILLED_AT_ONCE = 16;
/** Older blocks are not taken in: a block covers few days. */
const ABSORBED_SECONDS = 86_400;
