import { ListOf } from '@parley/protocol/lists.ts';
import { ConversationFile } from '@parley/protocol/resources/conversation-file.ts';
import { defineList, PageQuery, readPage, toList } from '../../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { keysetList } from '../../../platform/db/connection/keyset.ts';
import { readableConversation } from '../../conversations/directory/access.ts';
import { readActors } from '../../resources/actor.ts';
import type { Downloads } from '../../resources/attachment.ts';
import type { MessageRoutesOptions } from './message-routes.ts';

export function conversationFileRoutes({ database, files, directory }: MessageRoutesOptions): Route[] {
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
      response: ListOf(ConversationFile),
      async handle({ principal, params, query, url }) {
        const page = readPage(FILES, query, { conversation: params.id });
        const { id } = await readableConversation(directory, principal, params.id!);
        const rows = await FILE_PAGES.readPage(database, [id, principal.customer], page);
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

interface FileRow extends Omit<ConversationFile, 'object' | 'url' | 'sender'> {
  readonly position: number;
  /** Null after its bytes were purged. */
  readonly s3_key: string | null;
  readonly sender_id: string | null;
}

/** Returns the resource of each row, with its sender and a signed URL. */
async function presentFiles(
  db: Db,
  downloads: Downloads,
  rows: readonly FileRow[],
): Promise<ReadonlyMap<FileRow, ConversationFile>> {
  const senders = await readActors(db, [...new Set(rows.flatMap(({ sender_id }) => sender_id ?? []))]);
  const shown = rows.map(async (row): Promise<[FileRow, ConversationFile]> => {
    const { s3_key: key, position: _, sender_id, ...file } = row;
    const { filename, content_type: contentType } = file;
    const url = key === null ? null : await downloads.presignDownload({ key, filename, contentType });
    return [row, { ...file, object: 'conversation_file', url, sender: senders.get(sender_id ?? '') ?? null }];
  });
  return new Map(await Promise.all(shown));
}

// The key contains no time, because cursors can be read and customers must not learn when a draft
// was written (DECISIONS.md#times-and-names-of-a-message-for-customers). OFFSET 0 makes
// Postgres look messages up one by one.
const FILE_PAGES = keysetList<[conversationId: string, forCustomer: boolean], FileRow>({
  name: 'list-conversation-files',
  columns: `t.id, t.message_id, t.position, t.kind, t.s3_key, t.filename, t.content_type, t.size_bytes, t.removed_at, t.picture_metadata,
      m.sequence, m.sender_id, m.sent_at`,
  from: `attachments t CROSS JOIN LATERAL (
      SELECT sequence, sender_id, coalesce((outcome ->> 'at')::timestamptz, created_at) AS sent_at FROM messages
      WHERE conversation_id = t.conversation_id AND id = t.message_id AND status = 'sent' AND deleted_at IS NULL
        AND (NOT $2::boolean OR visibility <> 'internal') OFFSET 0
    ) m`,
  where: `t.conversation_id = $1 AND t.kind IN ('file', 'image')`,
  key: [
    ['t.message_id', 'text'],
    ['t.position', 'integer'],
  ],
});
