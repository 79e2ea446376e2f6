import { newId } from '../../../contract/protocol/ids.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Downloads } from '../../resources/attachment.ts';
import { readEntities, refKey } from '../../resources/entity.ts';
import type { NewAttachment } from '../timeline/new-message.ts';

type StoredAttachment = Omit<NewAttachment, 'position' | 'download_url' | 'resource'>;

/**
 * Returns the attachments of a message as another message carries them. They refer to the same
 * files: no bytes are copied, and a file stays while either message has it
 * (core/attachments/uploads.ts). Files that were purged, and resources that were deleted, are left
 * out.
 */
export async function carryAttachments(
  db: Db,
  files: Downloads,
  { id, account_id }: { readonly id: string; readonly account_id: string },
): Promise<NewAttachment[]> {
  const rows = await db.query(READ_ATTACHMENTS, id);
  const refs = rows.flatMap(({ resource_type: type, resource_id: id }) =>
    type === null || id === null ? [] : [{ type, id }],
  );
  const resources = await readEntities(db, account_id, refs);
  const carried = await Promise.all(
    rows.map(async (row): Promise<Omit<NewAttachment, 'position'> | undefined> => {
      const { s3_key: key, filename, content_type: contentType, resource_type: type, resource_id } = row;
      const copy = { ...row, id: newId('attachment') };
      if (key !== null) {
        return { ...copy, download_url: await files.presignDownload({ key, filename, contentType }) };
      }
      if (type === null || resource_id === null) return copy;
      const resource = resources.get(refKey({ type, id: resource_id }));
      return resource && { ...copy, resource };
    }),
  );
  return carried.filter((copy) => copy !== undefined).map((copy, position) => ({ ...copy, position }));
}

const READ_ATTACHMENTS = statement<[messageId: string], StoredAttachment>({
  name: 'read-attachments-to-carry',
  text: `
    SELECT id, kind, s3_key, filename, content_type, size_bytes, url, resource_type, resource_id FROM attachments
    WHERE message_id = $1 AND removed_at IS NULL ORDER BY position`,
});
