import { presentAuditEvent, readConversationAudit } from '../../../core/audit/audit.ts';
import { readAllParticipants } from '../../../core/conversations/participant-store.ts';
import { installed } from '../../../core/features/installed.ts';
import { allMessages, countMessages } from '../../../core/messages/whole-store.ts';
import type { ConversationRow } from '../../../core/resources/conversation.ts';
import { presentParticipants } from '../../../core/resources/participant.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import type { Contents } from './contents.ts';
import { inPages } from './pages.ts';

/** Adds a conversation, all messages, all participants ever, data of features, and the audit. */
export async function addConversation(
  db: Db,
  contents: Contents,
  conversation: ConversationRow,
): Promise<void> {
  const { id } = conversation;
  contents.expect(await countMessages(db, id));
  const { changed_in: _, lane_behind: __, direct_key: ___, ...shown } = conversation;
  await contents.addDocument('conversation.json', shown);
  await contents.addMessages(db, allMessages(db, id));
  await contents.addLines('participants', participants(db, id));
  for (const { holdings } of installed()) {
    for (const [noun, lines] of Object.entries(holdings?.exportsOfConversation ?? {})) {
      await contents.addLines(noun, lines(db, contents, { id }));
    }
  }
  await contents.addLines(
    'audit_events',
    inPages(
      (page) => readConversationAudit(db, id, page),
      ({ created_at, id }) => [created_at, id],
      presentAuditEvent,
    ),
  );
}

async function* participants(db: Db, conversationId: string): AsyncIterable<object[]> {
  const rows = await readAllParticipants(db, conversationId);
  const shown = await presentParticipants(db, rows);
  yield shown.map((participant, index) => ({
    ...participant,
    created_at: rows[index]!.created_at,
    updated_at: rows[index]!.updated_at,
  }));
}
