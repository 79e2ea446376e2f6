import { toEmoji } from '@parley/protocol/emoji.ts';
import { invalid } from '@parley/protocol/errors/errors.ts';
import type { ImportedMessageInput } from '@parley/protocol/resources/imported-message.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { ObjectStore } from '../../../core/attachments/storage.ts';
import type { ConversationFacts } from '../../../core/conversations/directory/directory.ts';
import type { NewAttachment } from '../../../core/messages/rows/new-message.ts';
import { newAttachments } from '../../../core/messages/sending/compose.ts';
import { resolveAttachments } from '../../../core/messages/sending/resolve.ts';
import type { ImportedMessage } from '../../../core/messages/timeline/imported-message.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { placed } from './imported-message-rules.ts';

interface Sources {
  readonly database: Db;
  readonly store: ObjectStore;
}

/** Returns the messages of a call in the form of the writer. Throws ApiError. */
export async function resolveImportedMessages(
  sources: Sources,
  principal: Principal,
  { audience }: Pick<ConversationFacts, 'audience'>,
  inputs: readonly ImportedMessageInput[],
): Promise<ImportedMessage[]> {
  const messages: ImportedMessage[] = [];
  for (const [index, input] of inputs.entries()) {
    const at = `messages[${index}]`;
    if (input.audience === 'customer' && audience !== 'customer') {
      throw invalid(`${at}.audience`, 'Only cases have messages for the customer.');
    }
    const attachments = await attachmentsOf(sources, principal, input, at);
    messages.push({
      client_message_id: input.client_message_id,
      kind: 'chat',
      visibility: input.audience === 'customer' ? 'external' : 'internal',
      author_id: input.author_id,
      body: input.body || null,
      created_at: input.created_at,
      edited_at: input.edited_at ?? null,
      deleted_at: input.deleted_at ?? null,
      reply_to: input.reply_to_client_message_id ?? null,
      reply_to_id: input.reply_to_message_id ?? null,
      mentions: input.mentions ?? [],
      attachments,
      reactions: (input.reactions ?? []).map(({ emoji, actor_id, created_at = null }) => ({
        emoji: toEmoji(emoji)!,
        actor_id,
        created_at,
      })),
      pin:
        input.pinned_by === undefined
          ? null
          : { by: input.pinned_by, at: input.pinned_at ?? input.created_at },
    });
  }
  return messages;
}

async function attachmentsOf(
  { database, store }: Sources,
  principal: Principal,
  { attachments = [] }: ImportedMessageInput,
  at: string,
): Promise<readonly NewAttachment[]> {
  if (attachments.length === 0) return [];
  try {
    return newAttachments(attachments, await resolveAttachments(database, store, principal, attachments));
  } catch (error) {
    throw placed(error, at);
  }
}
