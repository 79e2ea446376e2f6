import { derivedId, newId } from '@parley/protocol/ids.ts';
import type { Insertable } from 'kysely';
import { createActor, createCustomer } from '../../src/core/accounts/actors/actors.ts';
import { createConversation } from '../../src/core/conversations/rows/conversation-store.ts';
import type { NewParticipant } from '../../src/core/conversations/rows/participant-store.ts';
import type { MailboxRow } from '../../src/core/resources/mailbox.ts';
import { readMail, type ShownMail } from '../../src/features/mail/mails/mail-store.ts';
import type { MailThreadRow } from '../../src/features/mail/mails/thread-store.ts';
import type { Database } from '../../src/platform/db/connection/database.ts';
import type { Db } from '../../src/platform/db/connection/handle.ts';
import type { Schema } from '../../src/platform/db/tables/schema.ts';
import { newAddress } from '../support/new-address.ts';

/** An account and one of its actors: `demo` of a test app, or a Ground. */
export interface Owner {
  readonly database: Database;
  readonly accountId: string;
  readonly actorId: string;
}

/** Makes an inbox as the endpoint does; its address is new unless `fields` states one. */
export function addInbox(
  { database, accountId, actorId }: Owner,
  fields: Partial<Insertable<Schema['inboxes']>> = {},
): Promise<MailboxRow> {
  const id = newId('inbox');
  return database.kysely
    .insertInto('inboxes')
    .values({
      id,
      account_id: accountId,
      created_by: actorId,
      name: 'Support',
      address: `support-${id.slice(-8).toLowerCase()}@harbor.example`,
      ...fields,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** The thread of a conversation, or undefined if it was never bridged. */
export function readThread(db: Db, conversationId: string): Promise<MailThreadRow | undefined> {
  return db.kysely
    .selectFrom('mail_threads')
    .selectAll()
    .where('conversation_id', '=', conversationId)
    .executeTakeFirst();
}

export interface BridgedCase {
  readonly id: string;
  readonly customerId: string;
  readonly customerAddress: string;
}

/** A bridged case of the actor with a new customer. */
export async function addBridgedCase(
  { database, accountId, actorId }: Owner,
  mailboxId: string,
  { email = newAddress('customers.example'), name = 'Cleo' } = {},
  others: readonly NewParticipant[] = [],
): Promise<BridgedCase> {
  return database.transaction(async (tx) => {
    const customer = await createCustomer(tx, { accountId, name, email });
    const { conversation } = await createConversation(tx, {
      accountId,
      type: 'group',
      audience: 'customer',
      title: 'Where is my order?',
      mailboxId,
      participants: [
        { type: 'user', actorId, role: 'owner' },
        { type: 'customer', actorId: customer.id },
        ...others,
      ],
    });
    return { id: conversation.id, customerId: customer.id, customerAddress: email };
  });
}

/** A group of the account with an actor of its own, as a persona. */
export async function addGroup({ database, accountId }: Owner, name: string) {
  const actor = await createActor(database, { account_id: accountId, type: 'group', name });
  return database.kysely
    .insertInto('messaging_groups')
    .values({ id: newId('group'), account_id: accountId, actor_id: actor.id, name })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** A mail that came in and was accepted, unless `fields` states otherwise. */
export async function addMail(
  { database, accountId }: Pick<Owner, 'database' | 'accountId'>,
  fields: Partial<Insertable<Schema['mails']>> = {},
): Promise<ShownMail> {
  const rfcId = fields.rfc_id ?? `${newId('mail')}@customers.example`;
  const id = fields.id ?? derivedId('mail', rfcId);
  await database.kysely
    .insertInto('mails')
    .values({
      id,
      account_id: accountId,
      rfc_id: rfcId,
      direction: 'in',
      purpose: 'message',
      status: 'accepted',
      ...fields,
    })
    .execute();
  return (await readMail(database, id))!;
}
