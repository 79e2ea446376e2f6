import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { ChatMessage, MessageInclude } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import { readActors } from './actor.ts';
import { type Downloads, readAttachments } from './attachment.ts';
import { expandConversations, readConversationsById } from './conversation.ts';
import { readEntities, refKey, refOf } from './entity.ts';
import { readMessagesForPage } from './large-bodies.ts';
import {
  type MessageExpansions,
  type MessageLinks,
  type MessageRow,
  presentMessage,
  type Viewer,
  visibleToCustomers,
} from './message.ts';
import { readReactions } from './reaction.ts';
import { readRuns } from './run.ts';
import { readThreads } from './thread.ts';

interface Reader extends Viewer {
  /** The reader's own actor, which is never looked up. */
  readonly actor: Actor;
}

/**
 * Returns each row's resource (rows of one account) with exactly the sub-objects that `include[]`
 * names (docs/contract.md#expansion): one query a kind for all rows. Sub-objects are not expanded
 * further. The caller checks what the viewer may read.
 */
export async function expandMessages(
  db: Db,
  files: Downloads,
  viewer: Reader,
  rows: readonly MessageRow[],
  include: readonly MessageInclude[],
): Promise<ReadonlyMap<MessageRow, ChatMessage>> {
  const expansionsOf = await readExpansions(db, files, viewer, rows, include);
  return new Map(rows.map((row) => [row, presentMessage(row, viewer, expansionsOf(row))]));
}

/** Returns a function that returns a message's sub-objects for `expandMessages`. */
export async function readExpansions(
  db: Db,
  files: Downloads,
  viewer: Reader,
  rows: readonly MessageLinks[],
  include: readonly MessageInclude[],
): Promise<(row: MessageLinks) => MessageExpansions> {
  if (include.length === 0) return () => NO_EXPANSIONS;
  const wanted = new Set(include);
  // Customers do not see the author behind a persona, so it is not read either.
  if (viewer.customer) for (const hidden of ['author', 'agent_run'] as const) wanted.delete(hidden);
  const withFiles = rows.filter((row) => row.has_attachments).map((row) => row.id);
  const refs = rows.flatMap((row) => refOf(row.resource_type, row.resource_id) ?? []);
  const runIds = rows.flatMap(({ agent_run_id }) => agent_run_id ?? []);
  const ids = rows.map(({ id }) => id);
  const [actors, attachments, resources, runs, conversations, originals, reactions, threads] =
    await Promise.all([
      readOthers(db, viewer.actor, rows, wanted),
      readAttachments(db, files, wanted.has('attachments') ? withFiles : []),
      wanted.has('resource') ? readEntities(db, rows[0]?.account_id ?? '', refs, null) : NONE,
      wanted.has('agent_run') ? readRuns(db, [...new Set(runIds)]) : NONE,
      wanted.has('conversation') ? readConversationsOf(db, viewer, rows) : NONE,
      wanted.has('reply_to') ? readOriginals(db, viewer, rows) : NONE,
      wanted.has('reactions') ? readReactions(db, viewer, ids) : NONE,
      wanted.has('thread') ? readThreads(db, viewer, rows) : NONE,
    ] as const);
  return (row) => ({
    ...(wanted.has('sender') && { sender: actors.get(row.sender_id ?? '') ?? null }),
    ...(wanted.has('author') && { author: actors.get(row.author_id ?? '') ?? null }),
    ...(wanted.has('attachments') && { attachments: attachments.get(row.id) ?? [] }),
    ...(wanted.has('resource') && {
      resource: resources.get(refKey(refOf(row.resource_type, row.resource_id))) ?? null,
    }),
    ...(wanted.has('agent_run') && { agent_run: runs.get(row.agent_run_id ?? '') ?? null }),
    ...(wanted.has('conversation') && { conversation: conversations.get(row.conversation_id) ?? null }),
    ...(wanted.has('reply_to') && { reply_to: originals.get(row.reply_to_id ?? '') ?? null }),
    ...(wanted.has('reactions') && { reactions: reactions.get(row.id) ?? [] }),
    ...(wanted.has('thread') && { thread: threads.get(row.id) ?? null }),
  });
}

const NO_EXPANSIONS: MessageExpansions = {};

export async function expandMessage(
  db: Db,
  files: Downloads,
  viewer: Reader,
  row: MessageRow,
  include: readonly MessageInclude[] = [],
): Promise<ChatMessage> {
  if (include.length === 0) return presentMessage(row, viewer);
  const shown = await expandMessages(db, files, viewer, [row], include);
  return shown.get(row)!;
}

const NONE: ReadonlyMap<string, never> = new Map<string, never>();

async function readOthers(
  db: Db,
  self: Actor,
  rows: readonly MessageLinks[],
  wanted: ReadonlySet<MessageInclude>,
): Promise<ReadonlyMap<string, Actor>> {
  const ids = new Set<string>();
  for (const row of rows) {
    if (wanted.has('sender') && row.sender_id !== null) ids.add(row.sender_id);
    if (wanted.has('author') && row.author_id !== null) ids.add(row.author_id);
  }
  ids.delete(self.id);
  return new Map([[self.id, self], ...(await readActors(db, [...ids]))]);
}

async function readConversationsOf(
  db: Db,
  viewer: Reader,
  rows: readonly MessageLinks[],
): Promise<ReadonlyMap<string, Conversation>> {
  if (rows.length === 0) return NONE;
  const ids = [...new Set(rows.map((row) => row.conversation_id))];
  return expandConversations(db, viewer, await readConversationsById(db, ids), []);
}

/** Returns the messages replied to, as the viewer may see them. */
async function readOriginals(
  db: Db,
  viewer: Reader,
  rows: readonly MessageLinks[],
): Promise<ReadonlyMap<string, ChatMessage>> {
  const ids = rows.flatMap((row) => row.reply_to_id ?? []);
  if (ids.length === 0) return NONE;
  const originals = await readMessagesForPage(db, ids);
  // A customer can read only cases.
  const visible = originals.filter((row) => !viewer.customer || visibleToCustomers(row, 'customer'));
  return new Map(visible.map((row) => [row.id, presentMessage(row, viewer)]));
}
