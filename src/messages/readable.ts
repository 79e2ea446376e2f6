import type { Principal } from '../access/principal.ts';
import { mayRead } from '../conversations/access.ts';
import type { ConversationDirectory, ConversationFacts } from '../conversations/directory.ts';
import { visibleToCustomers } from '../conversations/message-present.ts';
import type { MessageRow } from '../conversations/message-rows.ts';
import type { Queries } from '../db/statement.ts';
import { ApiError } from '../protocol/errors.ts';
import { readMessage } from './store.ts';

export interface MessageSources {
  readonly database: Queries;
  readonly directory: ConversationDirectory;
}

/** A message, and where it is. */
export interface Readable {
  readonly row: MessageRow;
  readonly facts: ConversationFacts;
}

/**
 * The message, if the caller may read it: the team everything in its conversations, a customer what is sent
 * and visible to it. Otherwise `resource_not_found`, the same for another account's and an absent one.
 */
export async function readableMessage(
  { database, directory }: MessageSources,
  principal: Principal,
  id: string,
): Promise<Readable> {
  const row = await readMessage(database, id);
  const facts = row && (await directory.facts(row.conversation_id));
  const visible =
    facts !== undefined &&
    mayRead(principal, facts) &&
    (!principal.customer || visibleToCustomers(row!, facts.audience));
  if (!visible) throw new ApiError('resource_not_found', 'There is no such message.', { param: 'id' });
  return { row: row!, facts };
}
