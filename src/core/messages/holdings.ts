import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import { readActors } from '../resources/actor.ts';
import { type Downloads, readAttachments } from '../resources/attachment.ts';
import { type ExportFiles, type Holdings, OF_CONVERSATION } from '../resources/holdings.ts';
import { type MessageRow, presentForTeam } from '../resources/message.ts';
import { moveAuthor } from './removal/moved-author.ts';
import {
  allMessages,
  allMessagesOf,
  allReactionsOf,
  conversationsOfAuthor,
  countMessages,
  reactionsByMessage,
  revisionsByMessage,
} from './removal/whole-store.ts';
import { presentRevision } from './rows/revision-store.ts';

/** Messages are purged and erased by features/compliance/, under the lock of a hold. */
export const messageHoldings: Holdings = {
  tables: {
    messages: { exported: 'messages', moved: { ...OF_CONVERSATION, last: "t.status = 'scheduled'" } },
    message_revisions: { message_id: 'removed', exported: 'messages', moved: OF_CONVERSATION },
    attachments: {
      message_id: 'removed',
      file: 's3_key',
      exported: 'messages',
      moved: { ...OF_CONVERSATION, file: ['s3_key', 't.content_type'] },
    },
    reactions: { message_id: 'removed', exported: 'reactions', moved: OF_CONVERSATION },
    reacted_messages: { message_id: 'removed', moved: OF_CONVERSATION },
    pins: { message_id: 'removed', moved: OF_CONVERSATION },
    thread_reads: { message_id: 'removed', moved: OF_CONVERSATION },
  },
  movePerson: moveAuthor,
  exportsOfPerson: {
    messages: (db, files, { account_id, id }) => shown(db, files, messagesOf(db, files, account_id, id), id),
    reactions: (db, _files, { id }) => allReactionsOf(db, id),
  },
  exportsOfConversation: {
    async *messages(db, files, { id }) {
      files.expect(await countMessages(db, id));
      yield* shown(db, files, allMessages(db, id));
    },
  },
};

async function* messagesOf(db: Db, files: ExportFiles, accountId: string, authorId: string) {
  for await (const conversations of conversationsOfAuthor(db, accountId, authorId)) {
    files.expect(conversations.reduce((sum, { messages }) => sum + messages, 0));
    for (const { id } of conversations) yield* allMessagesOf(db, id, authorId);
  }
}

/**
 * Yields messages with revisions, reactions and attachments, whose `url` is the archive path. An
 * export of a person has no own ids of others, since it is handed over to the person.
 */
async function* shown(
  db: Db,
  files: ExportFiles,
  pages: AsyncIterable<readonly MessageRow[]>,
  personId?: string,
) {
  files.counts.revisions = 0;
  for await (const rows of pages) {
    const messages = await withEverything(db, files.downloads, rows, personId);
    for (const { revisions } of messages) files.counts.revisions += revisions.length;
    yield messages;
    files.step(rows.length);
  }
}

/** Returns resources of the newest version as the team sees them, with all optional fields. */
async function withEverything(
  db: Db,
  downloads: Downloads,
  rows: readonly MessageRow[],
  personId: string | undefined,
) {
  const shownActor = (actor: Actor | null | undefined): Actor | null =>
    !actor || personId === undefined || actor.id === personId
      ? (actor ?? null)
      : { ...actor, external_id: null };
  const ids = rows.map(({ id }) => id);
  const actorIds = rows.flatMap((row) => [row.sender_id ?? [], row.author_id ?? []].flat());
  const actors = await readActors(db, [...new Set(actorIds)]);
  const withFiles = rows.flatMap((row) => (row.has_attachments ? row.id : []));
  const attachments = await readAttachments(db, downloads, withFiles);
  const revisions = await revisionsByMessage(db, ids);
  const reactions = await reactionsByMessage(db, ids);
  return rows.map((row) => ({
    ...presentForTeam(row, {
      sender: shownActor(actors.get(row.sender_id ?? '')),
      author: shownActor(actors.get(row.author_id ?? '')),
      attachments: attachments.get(row.id) ?? [],
    }),
    conversation_id: row.conversation_id,
    client_message_id: row.client_message_id,
    reply_to_id: row.reply_to_id,
    agent_run_id: row.agent_run_id,
    mentions: row.mentions,
    outcome: row.outcome,
    revisions: (revisions.get(row.id) ?? []).map(presentRevision).map((revision) => ({
      ...revision,
      replaced_by: shownActor(revision.replaced_by),
    })),
    reactions: (reactions.get(row.id) ?? []).map(({ message_id: _, ...reaction }) => reaction),
  }));
}
