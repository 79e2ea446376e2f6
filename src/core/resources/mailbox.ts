import { Inbox } from '@parley/protocol/resources/inbox.ts';
import type { Selectable } from 'kysely';
import type { Db } from '../../platform/db/connection/handle.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';
import { presentAs } from './present-as.ts';

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

export function presentMailbox(row: MailboxRow): Inbox {
  return presentAs(Inbox, row);
}
