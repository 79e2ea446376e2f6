import { presentAuditEvent, readConversationAudit } from '../../../core/audit/audit.ts';
import { readAllParticipants } from '../../../core/conversations/participant-store.ts';
import { allMessages, countMessages } from '../../../core/messages/whole-store.ts';
import type { ConversationRow } from '../../../core/resources/conversation.ts';
import { presentParticipants } from '../../../core/resources/participant.ts';
import type { Db } from '../../../platform/db/handle.ts';
import { type MailRow, presentEmail, readMailsOfConversation } from '../../mail/mail-store.ts';
import type { Contents } from './contents.ts';
import { inPages } from './pages.ts';

/**
 * Adds everything of a conversation: itself, all messages, its mails with their sources,
 * participants that have left too, and the audit.
 */
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
  await contents.addLines('emails', emails(db, contents, id));
  await contents.addLines('participants', participants(db, id));
  await contents.addLines(
    'audit_events',
    inPages(
      (page) => readConversationAudit(db, id, page),
      ({ created_at, id }) => [created_at, id],
      presentAuditEvent,
    ),
  );
}

async function* emails(db: Db, contents: Contents, conversationId: string): AsyncIterable<object[]> {
  let last: MailRow | undefined;
  do {
    const rows = await readMailsOfConversation(db, conversationId, last ?? null, EMAILS_AT_ONCE);
    yield await Promise.all(rows.map((row) => presentEmail(contents.downloads, row)));
    last = rows.length < EMAILS_AT_ONCE ? undefined : rows.at(-1);
  } while (last !== undefined);
}

const EMAILS_AT_ONCE = 100;

async function* participants(db: Db, conversationId: string): AsyncIterable<object[]> {
  const rows = await readAllParticipants(db, conversationId);
  const shown = await presentParticipants(db, rows);
  yield shown.map((participant, index) => ({
    ...participant,
    created_at: rows[index]!.created_at,
    updated_at: rows[index]!.updated_at,
  }));
}
