import {
  CONVERSATION_INCLUDES,
  type Conversation,
  type ConversationInclude,
} from '@parley/protocol/resources/conversation.ts';
import { Body, Include } from '@parley/protocol/schema/schema.ts';
import type { Principal } from '../../api/access/principal.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import { type ConversationRow, expandConversations } from './conversation.ts';

export const ConversationQuery = Body({ 'include[]': Include(CONVERSATION_INCLUDES) });

/** Returns the conversation with the actors of its participants. */
export async function show(
  db: Db,
  principal: Principal,
  row: ConversationRow,
  include: readonly ConversationInclude[] = [],
): Promise<Conversation> {
  const shown = await expandConversations(db, principal, [row], include, ACTORS);
  return shown.get(row.id)!;
}

export const ACTORS = { participantActors: true };
