import { ListOf } from '../../../contract/protocol/lists.ts';
import { ConversationFile } from '../../../contract/protocol/resources/conversation-file.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { defineList, PageQuery, readPage, toList } from '../../../platform/http/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../platform/http/pipeline/route.ts';
import { readableConversation } from '../../conversations/access.ts';
import type { ConversationDirectory } from '../../conversations/directory.ts';
import type { Downloads } from '../../resources/attachment.ts';
import { presentFiles, readFiles } from './conversation-file-store.ts';

export interface ConversationFileRoutesOptions {
  readonly database: Database;
  readonly files: Downloads;
  readonly directory: ConversationDirectory;
}

export function conversationFileRoutes({
  database,
  files,
  directory,
}: ConversationFileRoutesOptions): Route[] {
  return [
    defineRoute({
      name: 'list_conversation_files',
      method: 'GET',
      path: '/v1/messaging/conversations/:id/files',
      summary: 'List the files that were sent in a conversation, newest first',
      since: '1.2.harbor',
      permission: 'messaging:read',
      customers: true,
      query: PageQuery({}),
      status: 200,
      response: ListOf(ConversationFile),
      async handle({ principal, params, query, url }) {
        const page = readPage(FILES, query, { conversation: params.id });
        const { id } = await readableConversation(directory, principal, params.id!);
        const rows = await readFiles(database, id, principal.customer, page);
        const shown = await presentFiles(database, files, rows);
        return toList(
          rows,
          page,
          url,
          ({ message_id, position }) => [message_id, position],
          (row) => shown.get(row)!,
        );
      },
    }),
  ];
}

const FILES = defineList('files of a conversation', ['text', 'integer']);
