import type { Attachment } from '@parley/protocol/resources/attachment.ts';
import type { Metadata } from '@parley/protocol/resources/metadata.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { type EntityRow, presentEntity } from './entity.ts';
import { NO_METADATA } from './metadata.ts';

interface AttachmentRow
  extends Omit<Required<Attachment>, 'object' | 'resource' | 'metadata' | 'picture_metadata'> {
  readonly message_id: string;
  /** The resource of an attachment of kind resource, or null if it was deleted. */
  readonly resource: EntityRow | null;
  readonly metadata?: Metadata | null | undefined;
  readonly picture_metadata?: Attachment['picture_metadata'];
}

type StoredAttachmentRow = AttachmentRow & { readonly s3_key: string | null };

export interface StoredFile {
  readonly key: string;
  /** The file name for the browser, or null for the key. */
  readonly filename: string | null;
  readonly contentType: string | null;
}

/** The part of an ObjectStore (core/attachments/storage.ts) that readers of messages need. */
export interface Downloads {
  /**
   * Returns a URL that serves the object for ten to fifteen minutes. URLs of one window of time are
   * equal, so that readers' caches work. It does not check that the object exists.
   */
  presignDownload(file: StoredFile): Promise<string>;
}

/** Returns attachments by message, in their order; files get a signed URL. */
export async function readAttachments(
  db: Db,
  files: Downloads,
  messageIds: readonly string[],
): Promise<ReadonlyMap<string, Attachment[]>> {
  const attachments = new Map<string, Attachment[]>();
  if (messageIds.length === 0) return attachments;
  const rows = await db.query(READ_ATTACHMENTS, messageIds);
  const urls = await Promise.all(rows.map((row) => downloadUrl(files, row)));
  for (const [index, row] of rows.entries()) {
    const ofMessage = attachments.get(row.message_id) ?? [];
    ofMessage.push(presentAttachment({ ...row, url: urls[index] ?? row.url }));
    attachments.set(row.message_id, ofMessage);
  }
  return attachments;
}

async function downloadUrl(
  files: Downloads,
  { s3_key: key, filename, content_type: contentType }: StoredAttachmentRow,
): Promise<string | null> {
  return key === null ? null : files.presignDownload({ key, filename, contentType });
}

export function presentAttachment(row: AttachmentRow): Attachment {
  return {
    id: row.id,
    object: 'message_attachment',
    kind: row.kind,
    filename: row.filename,
    content_type: row.content_type,
    size_bytes: row.size_bytes,
    url: row.url,
    resource: row.resource && presentEntity(row.resource),
    removed_at: row.removed_at,
    created_at: row.created_at,
    metadata: row.metadata ?? NO_METADATA,
    picture_metadata: row.picture_metadata ?? null,
  };
}

const READ_ATTACHMENTS = statement<[messageIds: readonly string[]], StoredAttachmentRow>('read-attachments')`
    SELECT t.id, t.message_id, t.kind, t.s3_key, t.filename, t.content_type, t.size_bytes, t.url, t.removed_at, t.created_at, t.metadata, t.picture_metadata,
      CASE WHEN t.resource_id IS NOT NULL THEN (
        SELECT jsonb_build_object('type', t.resource_type, 'id', r.id, 'name', r.name, 'handle', r.handle) FROM (
          SELECT id, name, NULL AS handle FROM accounts WHERE t.resource_type = 'account' AND id = t.resource_id
          UNION ALL
          SELECT id, name, handle FROM actors WHERE t.resource_type = 'actor' AND id = t.resource_id
          UNION ALL
          SELECT id, name, handle FROM entities WHERE t.resource_type = 'entity' AND id = t.resource_id
        ) r
      ) END AS resource
    FROM attachments t WHERE t.message_id = ANY($1) ORDER BY t.message_id, t.position`;
