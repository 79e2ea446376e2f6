import { notFound } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import type { EmailComplaint } from '@parley/protocol/resources/email-complaint.ts';
import { defineAccountList } from '../../../core/accounts/collections/account-list.ts';
import { audit } from '../../../core/audit/audit.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';

/** A complaint with the case of its mail. */
export interface ComplaintRow {
  readonly id: string;
  readonly account_id: string;
  readonly address: string;
  readonly kind: string;
  readonly mail_id: string;
  readonly conversation_id: string | null;
  readonly created_at: string;
}

/** Addresses of an account to which no reply is sent. */
interface Addresses {
  readonly accountId: string;
  /** In lower case. */
  readonly addresses: readonly string[];
}

/** Stops replies to an address, and audits it. An address with a complaint keeps its first one. */
export async function addComplaint(
  tx: Tx,
  { account_id, address, kind, mail_id, conversation_id }: Omit<ComplaintRow, 'id' | 'created_at'>,
): Promise<void> {
  const id = newId('emailComplaint');
  const inserted = await tx.kysely
    .insertInto('mail_complaints')
    .values({ id, account_id, address: address.toLowerCase(), kind, mail_id })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  if (inserted === undefined) return;
  const details = { complaint_id: id, kind, email_id: mail_id };
  await audit(tx, {
    accountId: account_id,
    conversationId: conversation_id,
    action: 'email.complained',
    details,
  });
}

/** Lifts the complaints of these addresses, and audits it; null is the act of their owner. */
export async function liftComplaints(
  tx: Tx,
  { accountId, addresses }: Addresses,
  actorId: string | null,
): Promise<void> {
  for (const { id, conversation_id: conversationId } of await tx.query(DELETE, accountId, addresses)) {
    const details = { complaint_id: id };
    await audit(tx, { accountId, conversationId, actorId, action: 'email.complaint_lifted', details });
  }
}

/** Returns which of these addresses get no reply. */
export async function readStopped(db: Db, { accountId, addresses }: Addresses): Promise<string[]> {
  const rows = await db.query(READ_STOPPED, accountId, addresses);
  return rows.map(({ address }) => address);
}

/** Returns the complaints of these addresses. */
export function readComplaintsOf(db: Db, { accountId, addresses }: Addresses): Promise<ComplaintRow[]> {
  return db.query(READ_OF_ADDRESSES, accountId, addresses);
}

/** Returns a complaint. Throws `resource_not_found` (param id). */
export async function readComplaint(db: Db, accountId: string, id: string): Promise<ComplaintRow> {
  const [row] = await db.query(READ, accountId, id);
  if (row === undefined) throw notFound('email_complaint', 'id');
  return row;
}

export function presentComplaint({ account_id: _, mail_id, ...row }: ComplaintRow): EmailComplaint {
  const { id, address, kind, conversation_id, created_at } = row;
  return { id, object: 'email_complaint', address, kind, email_id: mail_id, conversation_id, created_at };
}

const ROWS = `(SELECT c.*, m.conversation_id FROM mail_complaints c LEFT JOIN mails m ON m.id = c.mail_id) t`;

/** The complaints of an account, newest first; searchable by address. */
export const COMPLAINTS = defineAccountList<ComplaintRow>({
  name: 'email-complaints',
  columns: 't.*',
  from: ROWS,
  search: ['t.address'],
});

const READ = statement<[accountId: string, id: string], ComplaintRow>('read-email-complaint')`
    SELECT t.* FROM ${ROWS} WHERE t.account_id = $1 AND t.id = $2`;

const READ_STOPPED = statement<[accountId: string, addresses: readonly string[]], { address: string }>(
  'read-stopped-addresses',
)`
    SELECT a.address FROM unnest($2::text[]) AS a(address)
    WHERE EXISTS (SELECT FROM mail_complaints c WHERE c.account_id = $1 AND c.address = lower(a.address))`;

const READ_OF_ADDRESSES = statement<[accountId: string, addresses: readonly string[]], ComplaintRow>(
  'read-email-complaints-of-addresses',
)`
    SELECT t.* FROM ${ROWS} WHERE t.account_id = $1 AND t.address = ANY($2)`;

const DELETE = statement<
  [accountId: string, addresses: readonly string[]],
  Pick<ComplaintRow, 'id' | 'conversation_id'>
>('delete-email-complaints')`
    DELETE FROM mail_complaints c WHERE c.account_id = $1 AND c.address = ANY($2)
    RETURNING c.id, (SELECT m.conversation_id FROM mails m WHERE m.id = c.mail_id) AS conversation_id`;
