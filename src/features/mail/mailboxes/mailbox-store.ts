import { notFound } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import { type Insertable, sql, type UpdateObject } from 'kysely';
import { defineAccountList } from '../../../core/accounts/collections/account-list.ts';
import { enqueueRightsChanged } from '../../../core/accounts/rights/rights-changed.ts';
import type { MailboxRow } from '../../../core/resources/mailbox.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { isUniqueViolation } from '../../../platform/db/connection/unavailable.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import { addressTaken } from './mailbox-address.ts';

/** Throws `resource_exists` (param address). */
export async function insertMailbox(
  tx: Tx,
  inbox: Omit<Insertable<Schema['inboxes']>, 'id'>,
): Promise<MailboxRow> {
  const row = await tx.kysely
    .insertInto('inboxes')
    .values({ id: newId('inbox'), ...inbox })
    .onConflict((conflict) =>
      conflict.expression(sql`lower(address)`).where('deleted_at', 'is', null).doNothing(),
    )
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) throw addressTaken();
  return row;
}

/** Throws `resource_not_found` (param id). */
export function lockMailbox(tx: Tx, accountId: string, id: string): Promise<MailboxRow> {
  return tx.kysely
    .selectFrom('inboxes')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .forUpdate()
    .executeTakeFirstOrThrow(() => notFound('inbox', 'id'));
}

/** Changes a locked inbox unless all values are equal. Throws `resource_exists` (param address). */
export async function updateMailbox(
  tx: Tx,
  inbox: MailboxRow,
  change: Partial<Pick<MailboxRow, 'name' | 'address' | 'group_id' | 'assignee_id'>>,
): Promise<MailboxRow> {
  const isSame = Object.entries(change).every(([name, value]) => inbox[name as keyof MailboxRow] === value);
  return isSame ? inbox : write(tx, inbox, change);
}

/** Deletes a locked inbox. Its row stays, because cases and mails refer to it. */
export function deleteMailbox(tx: Tx, inbox: MailboxRow): Promise<MailboxRow> {
  return write(tx, inbox, { deleted_at: sql<string>`clock_timestamp()` });
}

/** Returns the inboxes of any account with these addresses, ignoring case, at most one for each. */
export function readMailboxesByAddress(db: Db, addresses: readonly string[]): Promise<MailboxRow[]> {
  const lowered = addresses.map((address) => address.toLowerCase());
  return db.query(READ_BY_ADDRESS, lowered);
}

/** The inboxes of an account, newest first; searchable by name and address. */
export const MAILBOXES = defineAccountList<MailboxRow>({
  name: 'inboxes',
  columns: 't.*',
  from: '(SELECT * FROM inboxes WHERE deleted_at IS NULL) t',
  search: ['t.name', 't.address'],
});

/** Writes and announces a change: nodes cache which cases an inbox bridges, and in which name. */
async function write(
  tx: Tx,
  { id }: MailboxRow,
  change: UpdateObject<Schema, 'inboxes'>,
): Promise<MailboxRow> {
  const row = await tx.kysely
    .updateTable('inboxes')
    .set({ ...change, updated_at: sql<string>`later_than(updated_at)` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      throw isUniqueViolation(error, 'inboxes_address') ? addressTaken() : error;
    });
  await enqueueRightsChanged(tx, [id]);
  return row;
}

const READ_BY_ADDRESS = statement<[addresses: readonly string[]], MailboxRow>('read-inboxes-by-address')`
    SELECT * FROM inboxes WHERE lower(address) = ANY($1) AND deleted_at IS NULL ORDER BY created_at, id`;
