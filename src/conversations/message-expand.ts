import type { Downloads } from '../attachments/storage.ts';
import type { Db } from '../db/handle.ts';
import type { Actor } from '../protocol/resources/actor.ts';
import type { ChatMessage, MessageInclude } from '../protocol/resources/chat-message.ts';
import { readActors } from '../resources/actor.ts';
import { readEntities, refKey } from '../resources/entity.ts';
import { type MessageExpansions, presentMessage } from './message-present.ts';
import { type MessageRow, readAttachments } from './message-rows.ts';
import { readRuns } from './run-present.ts';

/** The viewer of messages, as far as it affects their representation. */
export interface Viewer {
  readonly customer: boolean;
  /** The viewer's own actor: it is known, so it is never looked up. */
  readonly actor: Actor;
}

/**
 * Returns each row's resource with exactly the requested sub-objects: one query a kind of sub-object, whatever the
 * number of rows. All rows belong to one account. `conversation` and `reply_to` stay null here: they contain messages
 * themselves (messages/expand.ts).
 */
export async function expandMessages(
  db: Db,
  files: Downloads,
  viewer: Viewer,
  rows: readonly MessageRow[],
  include: readonly MessageInclude[],
): Promise<ReadonlyMap<MessageRow, ChatMessage>> {
  const wanted = new Set(include);
  // Customers must not learn who or what wrote under a persona, so it is not even read.
  if (viewer.customer) for (const hidden of ['author', 'agent_run'] as const) wanted.delete(hidden);
  const [actors, attachments, resources, runs] = await Promise.all([
    readOthers(db, viewer.actor, rows, wanted),
    readAttachments(db, files, wanted.has('attachments') ? idsWithAttachments(rows) : []),
    readResources(db, wanted.has('resource') ? rows : []),
    readRuns(db, wanted.has('agent_run') ? runIdsOf(rows) : []),
  ]);
  const shown = new Map<MessageRow, ChatMessage>();
  for (const row of rows) {
    const expansions: MessageExpansions = {
      ...(wanted.has('sender') && { sender: actors.get(row.sender_id ?? '') ?? null }),
      ...(wanted.has('author') && { author: actors.get(row.author_id ?? '') ?? null }),
      ...(wanted.has('attachments') && { attachments: attachments.get(row.id) ?? [] }),
      ...(wanted.has('resource') && { resource: resources.get(resourceKey(row) ?? '') ?? null }),
      ...(wanted.has('agent_run') && { agent_run: runs.get(row.agent_run_id ?? '') ?? null }),
    };
    shown.set(row, presentMessage(row, viewer, expansions));
  }
  return shown;
}

async function readOthers(
  db: Db,
  self: Actor,
  rows: readonly MessageRow[],
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

function idsWithAttachments(rows: readonly MessageRow[]): string[] {
  return rows.filter((row) => row.has_attachments).map((row) => row.id);
}

function runIdsOf(rows: readonly MessageRow[]): string[] {
  return [...new Set(rows.flatMap(({ agent_run_id }) => agent_run_id ?? []))];
}

function readResources(db: Db, rows: readonly MessageRow[]) {
  const refs = rows.flatMap(({ resource_type: type, resource_id: id }) =>
    type === null || id === null ? [] : [{ type, id }],
  );
  return readEntities(db, rows[0]?.account_id ?? '', refs);
}

function resourceKey({ resource_type: type, resource_id: id }: MessageRow): string | undefined {
  return type === null || id === null ? undefined : refKey({ type, id });
}
