import { readAvatarKey } from '../../../core/accounts/avatars/avatars.ts';
import type { Person } from '../../../core/accounts/persons.ts';
import { presentAuditEvent, readAccountAudit } from '../../../core/audit/audit.ts';
import { readBlocksOf } from '../../../core/conversations/blocks.ts';
import { readMembershipsOf } from '../../../core/conversations/participant-store.ts';
import { installed } from '../../../core/features/installed.ts';
import { allMessagesOf, allReactionsOf, conversationsOfAuthor } from '../../../core/messages/whole-store.ts';
import { readWholeFeed } from '../../../core/notifications/feed/feed-store.ts';
import { readOwnSettings } from '../../../core/notifications/settings/settings.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import type { Contents } from './contents.ts';
import { inPages } from './pages.ts';

/**
 * Adds everything about a person: profile and image, memberships, messages (drafts and scheduled
 * ones too) with revisions and files, reactions, notifications and their settings, blocks, data of
 * features, and the audit of its actions.
 */
export async function addPerson(
  db: Db,
  contents: Contents,
  { id, account_id, ...profile }: Person,
): Promise<void> {
  const key = await readAvatarKey(db, id);
  const avatar_url = key === undefined ? null : contents.refer({ key });
  await contents.addDocument('profile.json', { id, ...profile, avatar_url });
  await contents.addLines('memberships', readMembershipsOf(db, id));
  await contents.addMessages(db, messages(db, contents, account_id, id));
  await contents.addLines('reactions', allReactionsOf(db, id));
  await contents.addLines('notifications', readWholeFeed(db, id));
  await contents.addDocument('notification_settings.json', await readOwnSettings(db, id));
  await contents.addLines('blocks', readBlocksOf(db, id));
  for (const { holdings } of installed()) {
    for (const [noun, lines] of Object.entries(holdings?.exportsOfPerson ?? {})) {
      await contents.addLines(noun, lines(db, contents, { id, account_id, ...profile }));
    }
  }
  await contents.addLines(
    'audit_events',
    inPages(
      (page) =>
        readAccountAudit(
          db,
          account_id,
          { conversationId: undefined, actorIds: [id], action: undefined },
          page,
        ),
      ({ created_at, id }) => [created_at, id],
      presentAuditEvent,
    ),
  );
}

async function* messages(db: Db, contents: Contents, accountId: string, authorId: string) {
  for await (const conversations of conversationsOfAuthor(db, accountId, authorId)) {
    contents.expect(conversations.reduce((sum, { messages }) => sum + messages, 0));
    for (const { id } of conversations) yield* allMessagesOf(db, id, authorId);
  }
}
