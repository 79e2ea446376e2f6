import { notFound } from '@parley/protocol/errors/errors.ts';
import { type Principal, seesWholeAccount } from '../../../api/access/principal.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { mayRead, requirePresent } from '../../conversations/directory/access.ts';
import type { ConversationDirectory, ConversationFacts } from '../../conversations/directory/directory.ts';
import { type MessageRow, readMessage, visibleToCustomers } from '../../resources/message.ts';

/** A message with its conversation's facts. */
export interface Readable {
  readonly row: MessageRow;
  readonly facts: ConversationFacts;
}

/**
 * Returns whether the caller sees all scheduled messages of a readable conversation, as the team of
 * a case and callers with access to the whole account do. Authors always see their own.
 */
export function seesSchedules(principal: Principal, facts: ConversationFacts): boolean {
  return seesWholeAccount(principal) || (facts.audience === 'customer' && !principal.customer);
}

/**
 * Returns the message if the caller may read it: the team reads all of its conversations except
 * schedules of others; a customer reads sent messages visible to it and its own schedules.
 * Otherwise throws `resource_gone` if the conversation was deleted, or `resource_not_found`, which
 * does not tell another account's message from none.
 */
export async function readableMessage(
  { database, directory }: { readonly database: Db; readonly directory: ConversationDirectory },
  principal: Principal,
  id: string,
): Promise<Readable> {
  const row = await readMessage(database, id);
  const facts = row && (await directory.facts(row.conversation_id));
  if (row === undefined || facts === undefined || !isVisible(principal, row, facts)) {
    throw notFound('message', 'id');
  }
  requirePresent(principal, facts);
  if (!mayRead(principal, facts)) throw notFound('message', 'id');
  return { row, facts };
}

function isVisible(principal: Principal, row: MessageRow, facts: ConversationFacts): boolean {
  if (row.kind === 'scheduled' && row.sequence === null) {
    return row.author_id === principal.actor.id || seesSchedules(principal, facts);
  }
  return !principal.customer || visibleToCustomers(row, facts.audience);
}
