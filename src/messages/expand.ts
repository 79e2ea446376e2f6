import type { Principal } from '../access/principal.ts';
import type { Downloads } from '../attachments/storage.ts';
import { conversationRows, expandConversations } from '../conversations/expand.ts';
import { expandMessages } from '../conversations/message-expand.ts';
import { presentMessage, visibleToCustomers } from '../conversations/message-present.ts';
import type { MessageRow } from '../conversations/message-rows.ts';
import type { Db } from '../db/handle.ts';
import type { ChatMessage, MessageInclude } from '../protocol/resources/chat-message.ts';
import type { Conversation } from '../protocol/resources/conversation.ts';
import { readMessagesById } from './store.ts';

/**
 * Returns each row's resource with the companions that `include[]` named (docs/contract.md#expansion): those of
 * expandMessages, and the sub-objects that contain messages themselves, with one query a kind. Messages within
 * sub-objects are not expanded further.
 */
export async function showMessages(
  db: Db,
  files: Downloads,
  principal: Principal,
  rows: readonly MessageRow[],
  include: readonly MessageInclude[],
): Promise<ReadonlyMap<MessageRow, ChatMessage>> {
  const shown = await expandMessages(db, files, principal, rows, include);
  const withConversation = include.includes('conversation');
  const withReplyTo = include.includes('reply_to');
  if (!withConversation && !withReplyTo) return shown;
  const [conversations, originals] = await Promise.all([
    readConversations(db, principal, withConversation ? rows : []),
    readOriginals(db, principal, withReplyTo ? rows : []),
  ]);
  return new Map(
    [...shown].map(([row, message]) => [
      row,
      {
        ...message,
        conversation: conversations.get(row.conversation_id) ?? null,
        reply_to: originals.get(row.reply_to_id ?? '') ?? null,
      },
    ]),
  );
}

/** Like `showMessages`, for one row. */
export async function showMessage(
  db: Db,
  files: Downloads,
  principal: Principal,
  row: MessageRow,
  include: readonly MessageInclude[] = [],
): Promise<ChatMessage> {
  const shown = await showMessages(db, files, principal, [row], include);
  return shown.get(row)!;
}

async function readConversations(
  db: Db,
  principal: Principal,
  rows: readonly MessageRow[],
): Promise<ReadonlyMap<string, Conversation>> {
  if (rows.length === 0) return new Map();
  const ids = [...new Set(rows.map((row) => row.conversation_id))];
  return expandConversations(db, principal, await conversationRows(db, ids), []);
}

/** Returns the messages replied to, as the caller may see them. */
async function readOriginals(
  db: Db,
  principal: Principal,
  rows: readonly MessageRow[],
): Promise<ReadonlyMap<string, ChatMessage>> {
  const ids = [...new Set(rows.flatMap((row) => row.reply_to_id ?? []))];
  if (ids.length === 0) return new Map();
  const originals = await readMessagesById(db, ids);
  // The only conversations that a customer can read are cases.
  const visible = originals.filter((row) => !principal.customer || visibleToCustomers(row, 'customer'));
  return new Map(visible.map((row) => [row.id, presentMessage(row, principal)]));
}
