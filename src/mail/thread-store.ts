import { type Selectable, sql, type UpdateObject } from 'kysely';
import type { Db, Tx } from '../db/handle.ts';
import type { Schema } from '../db/schema.ts';

/** What the next mail of a bridged case begins with. It is made with the case (conversations/conversation-store.ts). */
export type MailThreadRow = Selectable<Schema['mail_threads']>;

export type MailThreadChange = Omit<UpdateObject<Schema, 'mail_threads'>, 'conversation_id' | 'updated_at'>;

/** Returns undefined for a conversation that was never bridged. */
export function readThread(db: Db, conversationId: string): Promise<MailThreadRow | undefined> {
  return threadOf(db, conversationId).executeTakeFirst();
}

/** Like `readThread`; the row is locked until the transaction ends. */
export function lockThread(tx: Tx, conversationId: string): Promise<MailThreadRow | undefined> {
  return threadOf(tx, conversationId).forUpdate().executeTakeFirst();
}

export async function updateThread(tx: Tx, conversationId: string, change: MailThreadChange): Promise<void> {
  await tx.kysely
    .updateTable('mail_threads')
    .set({ ...change, updated_at: sql<string>`later_than(updated_at)` })
    .where('conversation_id', '=', conversationId)
    .execute();
}

function threadOf(db: Db, conversationId: string) {
  return db.kysely.selectFrom('mail_threads').selectAll().where('conversation_id', '=', conversationId);
}
