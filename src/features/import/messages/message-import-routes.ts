import { ApiError } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import { ImportMessagesBody, MessageImport } from '@parley/protocol/resources/imported-message.ts';
import type { Principal } from '../../../api/access/principal.ts';
import { Answer, defineRoute, type Route } from '../../../api/pipeline/route.ts';
import type { ObjectStore } from '../../../core/attachments/storage.ts';
import { readableConversation } from '../../../core/conversations/directory/access.ts';
import type { ConversationDirectory } from '../../../core/conversations/directory/directory.ts';
import { COMMITS } from '../../../core/messages/reading/message-routes.ts';
import type { WrittenImport } from '../../../core/messages/timeline/imported-message.ts';
import type { ImportedWrites } from '../../../core/messages/timeline/imported-write.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { checkImportedMessages } from './imported-message-rules.ts';
import { resolveImportedMessages } from './resolve-imported.ts';

interface MessageImportRoutesOptions {
  readonly database: Database;
  readonly store: ObjectStore;
  readonly directory: ConversationDirectory;
  readonly importedWrites: ImportedWrites;
}

/** Returns the routes of imports by an account's backend (docs/contract.md#imported-messages). */
export function messageImportRoutes(options: MessageImportRoutesOptions): Route[] {
  const { database, store, directory, importedWrites } = options;
  return [
    defineRoute({
      name: 'import_messages',
      method: 'POST',
      path: '/v1/messaging/conversations/:id/messages/import',
      summary: 'Import messages of another system with their authors and times',
      since: '1.3.harbor',
      permission: 'imports:create',
      agents: false,
      body: ImportMessagesBody,
      async rules({ principal, body }) {
        requireKey(principal);
        await checkImportedMessages(database, body.messages);
      },
      status: 201,
      mayExist: true,
      response: MessageImport,
      refuses: ['resource_conflict', 'resource_gone'],
      commits: COMMITS.locked,
      async handle({ principal, params, body, answer }) {
        const facts = await readableConversation(directory, principal, params.id!);
        const messages = await resolveImportedMessages({ database, store }, principal, facts, body.messages);
        const importId = newId('import');
        const { followed } = await importedWrites.write(
          {
            accountId: principal.accountId,
            conversationId: facts.id,
            importId,
            by: principal.actor.id,
            missingRoots: 'refused',
            messages,
          },
          {
            follow: async (tx, written) =>
              answer(present({ importId, conversationId: facts.id }, body, written), tx),
          },
        );
        return followed!;
      },
    }),
  ];
}

/** Requires an API key: a person could write messages that look like another person's. */
function requireKey({ credential }: Principal): void {
  if (credential.kind === 'api_key') return;
  throw new ApiError('insufficient_permissions', 'Only API keys of admin roles can import messages.');
}

function present(
  { importId, conversationId }: { readonly importId: string; readonly conversationId: string },
  { messages }: ImportMessagesBody,
  written: readonly WrittenImport[],
): Answer<MessageImport> {
  const isNew = written.some(({ existed }) => !existed);
  const shown: MessageImport = {
    object: 'message_import',
    import_id: importId,
    conversation_id: conversationId,
    messages: messages.map(({ client_message_id }, index) => {
      const { id, sequence, existed } = written[index]!;
      return { client_message_id, id, sequence, existed };
    }),
  };
  return new Answer(isNew ? 201 : 200, shown, !isNew);
}
