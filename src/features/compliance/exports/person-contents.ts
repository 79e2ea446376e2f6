import { readAvatarKey } from '../../../core/accounts/avatars/avatars.ts';
import type { Person } from '../../../core/accounts/persons.ts';
import { presentAuditEvent, readAccountAudit } from '../../../core/audit/audit.ts';
import { readBlocksOf } from '../../../core/conversations/block-store.ts';
import { readMembershipsOf } from '../../../core/conversations/participant-store.ts';
import { allMessagesOf, allReactionsOf, conversationsOfAuthor } from '../../../core/messages/whole-store.ts';
import { readWholeFeed } from '../../../core/notifications/feed-store.ts';
import { readOwnSettings } from '../../../core/notifications/settings.ts';
import type { Db } from '../../../platform/db/handle.ts';
import { readArtifactsOf, readRunsStartedBy } from '../../agents/runs/person-store.ts';
import { presentEmail } from '../../mail/mail-store.ts';
import { mailsOfPerson, type PersonOfMails } from '../../mail/person-store.ts';
import { readEventsRaisedBy } from '../../platform-events/event-store.ts';
import { presentEvent } from '../../platform-events/platform-event.ts';
import { readSubscriptionsOf } from '../../push/subscription-store.ts';
import type { Contents } from './contents.ts';
import { inPages } from './pages.ts';

/**
 * Adds everything about a person: profile with its image, memberships, messages that it wrote
 * (drafts and scheduled ones too) with revisions and files, its reactions, the mails that it wrote
 * or was sent with their sources, its notifications, their settings and its push subscriptions, its
 * blocks, the events that it raised, the runs that it started with their files, and the audit of
 * what it did.
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
  const addresses = [profile.handle, profile.email].flatMap((address) => address?.toLowerCase() ?? []);
  await contents.addLines('emails', emails(db, contents, { accountId: account_id, id, addresses }));
  await contents.addLines('notifications', readWholeFeed(db, id));
  await contents.addDocument('notification_settings.json', await readOwnSettings(db, id));
  await contents.addLines('events', events(db, account_id, id));
  await contents.addLines('push_subscriptions', readSubscriptionsOf(db, id));
  await contents.addLines('blocks', readBlocksOf(db, id));
  await contents.addLines('agent_runs', readRunsStartedBy(db, id));
  await contents.addLines('artifacts', artifacts(db, contents, id));
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

async function* emails(db: Db, contents: Contents, person: PersonOfMails): AsyncIterable<object[]> {
  for await (const rows of mailsOfPerson(db, person)) {
    yield await Promise.all(rows.map((row) => presentEmail(contents.downloads, row)));
  }
}

async function* events(db: Db, accountId: string, actorId: string): AsyncIterable<object[]> {
  for await (const rows of readEventsRaisedBy(db, accountId, actorId)) yield rows.map(presentEvent);
}

async function* artifacts(db: Db, contents: Contents, actorId: string): AsyncIterable<object[]> {
  for await (const rows of readArtifactsOf(db, actorId)) {
    yield rows.map(({ s3_key: key, ...row }) => ({ ...row, url: contents.refer({ key }) }));
  }
}
