import { ApiError } from '../../contract/protocol/errors.ts';
import type { Principal } from '../../platform/access/principal.ts';
import { readableConversation } from './access.ts';
import type { ConversationDirectory } from './directory.ts';

/**
 * Requires that the parameter `conversation_id` of a list names a conversation that the caller may
 * read. Throws ApiError `parameter_invalid`, or `resource_gone` if it was deleted.
 */
export async function requireConversationFilter(
  directory: ConversationDirectory,
  principal: Principal,
  id: string,
): Promise<void> {
  try {
    await readableConversation(directory, principal, id, 'conversation_id');
  } catch (error) {
    if (!(error instanceof ApiError) || error.condition !== 'resource_not_found') throw error;
    const message = 'Must be the id of a conversation that you can read.';
    throw new ApiError('parameter_invalid', message, { param: 'conversation_id' });
  }
}
