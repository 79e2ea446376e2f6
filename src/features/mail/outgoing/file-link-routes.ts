import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { PublicRoutes } from '../../../api/pipeline/public-routes.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { FILE_LINKS_PATH, type FileLinks } from './file-links.ts';

/** Returns the routes of the links. The signature is the credential. */
export function fileLinkRoutes(
  links: FileLinks,
  { database, store }: Pick<NodeParts, 'database' | 'store'>,
): PublicRoutes {
  return {
    [`${FILE_LINKS_PATH}*`]: async ({ path, query }) => {
      const [file] = await database.query(READ_FILE, links.read(path, query));
      if (file === undefined) throw new ApiError('resource_gone', 'The file was deleted.');
      const { s3_key: key, filename, content_type: contentType } = file;
      const location = await store.presignDownload({ key, filename, contentType });
      return { status: 302, body: null, headers: { Location: location, 'Cache-Control': 'no-store' } };
    },
  };
}

const READ_FILE = statement<
  [attachmentId: string],
  { s3_key: string; filename: string | null; content_type: string | null }
>('read-file-of-mail')`
    SELECT t.s3_key, t.filename, t.content_type
    FROM attachments t JOIN messages m ON m.id = t.message_id JOIN conversations c ON c.id = m.conversation_id
      JOIN accounts a ON a.id = m.account_id
    WHERE t.id = $1 AND t.s3_key IS NOT NULL AND t.removed_at IS NULL
      AND num_nonnulls(m.deleted_at, c.deleted_at, a.deleted_at) = 0`;
