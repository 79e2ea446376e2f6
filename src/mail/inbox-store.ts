import { defineAccountList } from '../accounts/account-list.ts';
import type { Db } from '../db/handle.ts';
import { statement } from '../db/statement.ts';
import type { InboxRow } from '../resources/inbox.ts';

/** Returns an inbox of any account; undefined if there is none, or it was removed. */
export async function readInbox(db: Db, id: string): Promise<InboxRow | undefined> {
  const [row] = await db.query(READ_INBOX, id);
  return row;
}

/** Returns the inboxes of any account that have one of these addresses, case ignored. An address has one inbox at most. */
export function readInboxesByAddress(db: Db, addresses: readonly string[]): Promise<InboxRow[]> {
  return db.query(
    READ_BY_ADDRESS,
    addresses.map((address) => address.toLowerCase()),
  );
}

/** Returns whether one of these addresses is that of an inbox, of whichever account: mail from there is a machine's. */
export async function isInboxAddress(db: Db, addresses: readonly string[]): Promise<boolean> {
  return (await readInboxesByAddress(db, addresses)).length > 0;
}

/** The inboxes of an account, newest first; searched by their names and addresses. */
export const INBOXES = defineAccountList<InboxRow>({
  name: 'inboxes',
  columns: 't.*',
  from: '(SELECT * FROM inboxes WHERE deleted_at IS NULL) t',
  search: ['t.name', 't.address'],
});

const READ_INBOX = statement<[id: string], InboxRow>({
  name: 'read-inbox',
  text: 'SELECT * FROM inboxes WHERE id = $1 AND deleted_at IS NULL',
});

const READ_BY_ADDRESS = statement<[addresses: readonly string[]], InboxRow>({
  name: 'read-inboxes-by-address',
  text: 'SELECT * FROM inboxes WHERE lower(address) = ANY($1) AND deleted_at IS NULL ORDER BY created_at, id',
});
