import type { Querier } from '../../db/handle.ts';
import { statement } from '../../db/statement.ts';
import { newId } from '../../protocol/ids.ts';
import { insertMessages } from './insert-store.ts';
import type { NewMessage } from './new-message.ts';

/**
 * Inserts a message into a conversation of its own and takes both back, so that the first send finds everything that
 * Postgres and Node prepare at the first use of a statement. Nothing else may use the connection meanwhile.
 */
export async function rehearseInsert(writer: Querier): Promise<void> {
  const message = rehearsedMessage();
  await writer.query(BEGIN);
  try {
    await writer.query(CREATE_CONVERSATION, message.account_id, message.conversation_id);
    await insertMessages(writer, [{ message, sequence: 1 }]);
  } finally {
    await writer.query(ROLLBACK);
  }
}

function rehearsedMessage(): NewMessage {
  const author_id = newId('actor');
  return {
    ...{ id: newId('message'), account_id: newId('account'), conversation_id: newId('conversation') },
    ...{ kind: 'chat', visibility: 'internal', channel: 'message', body: '', subject: null, cc: null },
    ...{ mentions: null, sender_id: author_id, author_id, reply_to_id: null, agent_run_id: null },
    ...{ resource_type: null, resource_id: null, streaming_state: null, client_message_id: '' },
    attachments: [],
  };
}

const BEGIN = statement({ name: 'begin-rehearsal', text: 'BEGIN' });

const ROLLBACK = statement({ name: 'end-rehearsal', text: 'ROLLBACK' });

const CREATE_CONVERSATION = statement<[accountId: string, conversationId: string]>({
  name: 'create-rehearsed-conversation',
  text: `
    WITH account AS (INSERT INTO accounts (id, name) VALUES ($1, '') RETURNING id)
    INSERT INTO conversations (id, account_id, type) SELECT $2, id, 'group' FROM account`,
});
