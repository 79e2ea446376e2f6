import type { Selectable } from 'kysely';
import type { Inbox } from '../../contract/protocol/resources/inbox.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';

export type MailboxRow = Selectable<Schema['inboxes']>;

/** Returns the account's inbox, or undefined if it has no such inbox or removed it. */
export function readMailboxOf(db: Db, accountId: string, id: string): Promise<MailboxRow | undefined> {
  return db.kysely
    .selectFrom('inboxes')
    .selectAll()
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
}

export function presentMailbox({
  id,
  name,
  address,
  group_id,
  assignee_id,
  created_at,
  updated_at,
}: MailboxRow): Inbox {
  return { id, object: 'inbox', name, address, group_id, assignee_id, created_at, updated_at };
}
