import type { Database } from '../../platform/db/database.ts';
import type { Tx } from '../../platform/db/handle.ts';
import { codeOf } from '../../platform/db/unavailable.ts';
import {
  type Block,
  deleteChanges,
  deleteGone,
  deleteStale,
  insertBlocks,
  lockIndex,
  noteConversationsOf,
  readChanges,
  readHeads,
  readUnfilled,
  readUnindexed,
  readWaiting,
  returnConversations,
  type UnindexedMessage,
  writeProgress,
} from './index-store.ts';
import { lexemesOf, quoted } from './lexemes.ts';
import { wordsOf } from './words.ts';

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

/** What is read for the oldest changes. */
interface Round {
  readonly changeIds: readonly number[];
  readonly actorIds: readonly string[];
  /** Conversations whose title or members changed. */
  readonly heads: Set<string>;
  /** Conversations with new messages, and about how many. */
  readonly fresh: Map<string, number>;
  /** Ids of changed messages, by their conversations. */
  readonly changed: Map<string, string[]>;
  /** The progress of filling that is reached with this round; undefined: none. */
  readonly filledThrough: string | null | undefined;
  /** More arrives than the index keeps up with, something was left over, or it is being filled. */
  readonly isTooMuch: boolean;
}

/** What one transaction indexes. */
interface Part {
  readonly heads: string[];
  readonly fresh: string[];
  readonly changedIds: string[];
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
  const restAfter = (size: number): number => {
    const workedMs = performance.now() - beganMs;
    const longestMs = workedMs * REST;
    const pacedMs = Math.max(0, size / MESSAGES_A_MS - workedMs);
    return Math.round(round.isTooMuch ? longestMs : Math.min(longestMs, pacedMs));
  };
  let messages = 0;
  for (let part = nextPart(round); part !== undefined; part = nextPart(round)) {
    const { heads } = part;
    const done = await database
      .transaction((tx) => writePart(tx, part!, messages < MAX_MESSAGES))
      .catch((error: unknown) => {
        if (codeOf(error) !== LOCK_TIMEOUT) throw error;
        return database.transaction((tx) => writeProgress(tx, 0));
      });
    if (done === undefined) return undefined;
    messages += done.messages;
    for (const id of done.unread) round.fresh.set(id, PART_MESSAGES);
    if (!(await rest(restAfter(done.messages + heads.length * HEAD_SIZE)))) {
      await database.transaction((tx) => writeProgress(tx, 0));
      return undefined;
    }
    beganMs = performance.now();
  }
  return database.transaction(async (tx) => {
    if (!(await lockIndex(tx))) return undefined;
    if (round.actorIds.length > 0) await noteConversationsOf(tx, round.actorIds);
    await deleteChanges(tx, round.changeIds);
    const restMs = restAfter(0);
    await writeProgress(tx, restMs, round.filledThrough);
    return { messages, restMs };
  });
}

async function beginRound(tx: Tx): Promise<Round | undefined> {
  if (!(await lockIndex(tx))) return undefined;
  const { is_due, is_filled, lag } = await readWaiting(tx);
  if (!is_due) return undefined;
  const changes = await readChanges(tx, MAX_MESSAGES);
  const heads = new Set(changes.flatMap(({ conversation_ids }) => conversation_ids));
  const fresh = new Map<string, number>();
  const changed = new Map<string, string[]>();
  for (const { sent_of, changed_ids, changed_of } of changes) {
    for (const id of sent_of) fresh.set(id, (fresh.get(id) ?? 0) + 1);
    for (const [index, id] of changed_ids.entries()) {
      const of = changed_of[index]!;
      changed.set(of, [...(changed.get(of) ?? []), id]);
      fresh.set(of, (fresh.get(of) ?? 0) + CHANGED_SIZE);
    }
  }
  const size = [...fresh.values()].reduce((sum, count) => sum + count, heads.size);
  let filledThrough: string | null | undefined;
  if (!is_filled && size <= MAX_MESSAGES / 4) {
    const ids = await readUnfilled(tx, FILLED_AT_ONCE);
    for (const id of ids) {
      fresh.set(id, PART_MESSAGES);
      heads.add(id);
    }
    filledThrough = ids.length < FILLED_AT_ONCE ? null : ids.at(-1)!;
  }
  await writeProgress(tx, CLAIM_MS);
  const rate = size / Math.max((lag ?? 0) * 1_000, 1);
  return {
    changeIds: changes.map(({ id }) => id),
    actorIds: [...new Set(changes.flatMap(({ actor_ids }) => actor_ids))],
    ...{ heads, fresh, changed, filledThrough },
    isTooMuch: !is_filled || size >= MAX_MESSAGES || rate > MESSAGES_A_MS,
  };
}

/** Takes about PART_MESSAGES of what is left of a round; undefined: nothing is. */
function nextPart({ heads, fresh, changed }: Round): Part | undefined {
  const part: Part = { heads: [], fresh: [], changedIds: [] };
  let size = 0;
  for (const id of heads) {
    if (size >= PART_MESSAGES) return part;
    heads.delete(id);
    part.heads.push(id);
    size += HEAD_SIZE;
  }
  for (const [id, count] of fresh) {
    if (size >= PART_MESSAGES) return part;
    fresh.delete(id);
    part.fresh.push(id);
    part.changedIds.push(...(changed.get(id) ?? []));
    size += count;
  }
  return size === 0 ? undefined : part;
}

interface Done {
  /** How many messages were read. */
  readonly messages: number;
  /** Conversations with further messages, which a later part of the round reads. */
  readonly unread: readonly string[];
}

/**
 * `goesOn`: the round has room for what is left of long conversations; they are noted again where
 * it has not. Returns undefined if another node is at the index.
 */
async function writePart(tx: Tx, part: Part, goesOn: boolean): Promise<Done | undefined> {
  if (!(await lockIndex(tx, [...part.heads, ...part.fresh]))) return undefined;
  if (part.heads.length > 0) {
    await deleteGone(tx, part.heads);
    const heads = await readHeads(tx, part.heads);
    await insertBlocks(
      tx,
      heads.map(({ names, ...head }) => {
        const lexemes = lexemesOf(head.account_id);
        const terms = wordsIn(names).map((word) => lexemes.name(word));
        return { ...head, terms: textOf(new Set([lexemes.conversation(head.conversation_id), ...terms])) };
      }),
    );
  }
  if (part.fresh.length === 0) return { messages: 0, unread: [] };
  const stale = await deleteStale(tx, part.fresh, part.changedIds);
  const messages = await readUnindexed(tx, part.fresh, stale, PART_MESSAGES);
  const unread: string[] = [];
  const blocks: Block[] = [];
  for (const range of Map.groupBy(messages, (row) => `${row.conversation_id} ${row.first}`).values()) {
    blocks.push(...blocksOf(range));
    const { last, conversation_id } = range[0]!;
    if (last === null && range.length === PART_MESSAGES) unread.push(conversation_id);
  }
  if (blocks.length > 0) await insertBlocks(tx, blocks);
  if (unread.length === 0 || goesOn) return { messages: messages.length, unread };
  await returnConversations(tx, unread);
  return { messages: messages.length, unread: [] };
}

/** Returns the blocks of a range of a timeline, without gaps between them. */
function blocksOf(messages: readonly UnindexedMessage[]): Block[] {
  const { account_id, conversation_id, first, last } = messages[0]!;
  const lexemes = lexemesOf(account_id);
  let next = first;
  return groupsOf(messages).map((group) => {
    const end = group.at(-1) === messages.at(-1) ? last : null;
    const row = { first_sequence: next, last_sequence: end ?? group.at(-1)!.sequence };
    const missing = new Set<number>();
    for (; next <= row.last_sequence; next++) missing.add(next);
    const terms = new Set<string>();
    for (const { sequence, is_shown, body, subject, author_id, sender_id, has_attachments } of group) {
      missing.delete(sequence);
      if (!is_shown) continue;
      for (const word of wordsIn([body, subject])) terms.add(lexemes.word(word));
      for (const id of [author_id, sender_id]) if (id !== null) terms.add(lexemes.author(id));
      if (has_attachments) terms.add(lexemes.file);
      terms.add(lexemes.conversation(conversation_id));
    }
    const times = group.map(({ at }) => at).sort();
    return {
      ...{ conversation_id, account_id, ...row, messages: group.filter(({ is_shown }) => is_shown).length },
      ...{ from_at: times[0]!, to_at: times.at(-1)!, missing: [...missing], terms: textOf(terms) },
    };
  });
}

/**
 * Cuts a timeline. A block has few words and covers few days, so that one that may have a match is
 * read quickly, and its age says much about its messages.
 */
function groupsOf(messages: readonly UnindexedMessage[]): UnindexedMessage[][] {
  const groups: UnindexedMessage[][] = [];
  let characters = 0;
  for (const message of messages) {
    const group = groups.at(-1);
    const size = (message.body?.length ?? 0) + (message.subject?.length ?? 0);
    const isNext =
      group !== undefined &&
      message.sequence < group[0]!.sequence + BLOCK_NUMBERS &&
      characters + size <= MAX_CHARACTERS &&
      Math.abs(Date.parse(message.at) - Date.parse(group[0]!.at)) <= MAX_SPAN_MS;
    characters = isNext ? characters + size : size;
    if (isNext) group.push(message);
    else groups.push([message]);
  }
  return groups;
}

function wordsIn(texts: readonly (string | null)[]): string[] {
  return texts.flatMap((text) => wordsOf(text ?? '', 'document').map((word) => word.text));
}

/** Returns the text form of a tsvector. */
function textOf(terms: ReadonlySet<string>): string {
  return Array.from(terms, quoted).join(' ');
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
/** SQLSTATE: a change of a message has not committed for longer than a part waits. */
const LOCK_TIMEOUT = '55P03';
/** Numbers of a full block. */
const BLOCK_NUMBERS = 16;
/** Characters of all texts of a block: a tsvector has room for 1 MiB. */
const MAX_CHARACTERS = 60_000;
const MAX_SPAN_MS = 86_400_000;
