import { ApiError, invalid } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import {
  type ForwardMessageBody,
  MESSAGE_LIMITS,
  type SendMessageBody,
} from '@parley/protocol/resources/chat-message.ts';
import { requirePermission } from '../../../api/access/authorize.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Downloads } from '../../resources/attachment.ts';
import { readEntities, refKey, refOf } from '../../resources/entity.ts';
import type { MessageRow } from '../../resources/message.ts';
import type { NewAttachment } from '../rows/new-message.ts';
import { requireFinished, requireSent, requireThere } from '../rules/edit-rules.ts';
import type { Forwarding } from '../sending/compose.ts';

/**
 * Returns the content of a readable message as a new message of the caller
 * (docs/contract.md#forwarding): the caller's own words, then the text, with link and attachments.
 * It is for the team unless the caller states the audience. Throws ApiError.
 */
export async function forwarded(
  database: Database,
  files: Downloads,
  principal: Principal,
  row: MessageRow,
  { body: words, client_message_id, audience }: ForwardMessageBody,
): Promise<Forwarding & { readonly body: SendMessageBody }> {
  requirePermission(principal, 'messaging:read');
  requireThere(row);
  requireSent(row, 'cannot be forwarded. Only sent ones can.');
  requireFinished(row);
  const body = [words, row.body].filter(Boolean).join('\n\n');
  if (body.length > MESSAGE_LIMITS.bodyCharacters) {
    const most = MESSAGE_LIMITS.bodyCharacters;
    throw invalid(
      'body',
      `The message would have more than ${most} characters. Write less, or send a part of it.`,
    );
  }
  const [attachments, link] = await Promise.all([
    carryAttachments(database, files, row),
    linkOf(database, row),
  ]);
  if (body === '' && link === undefined && attachments.length === 0) {
    throw new ApiError('resource_gone', 'Nothing of the message is left to forward.', { param: 'id' });
  }
  return {
    body: { body, client_message_id, ...(audience !== undefined && { audience }), ...link },
    words,
    attachments,
  };
}

/** Returns undefined also if the resource was deleted. */
async function linkOf(
  database: Database,
  { account_id, resource_type: type, resource_id: id }: MessageRow,
): Promise<Pick<SendMessageBody, 'link_resource_type' | 'link_resource_id'> | undefined> {
  if (type === null || id === null) return undefined;
  const found = await readEntities(database, account_id, [{ type, id }], null);
  return found.size === 0 ? undefined : { link_resource_type: type, link_resource_id: id };
}

type StoredAttachment = Omit<NewAttachment, 'position' | 'download_url' | 'resource'>;

/**
 * Returns the attachments of a message for another one. They refer to the same files: no bytes are
 * copied, and a file stays while either message has it (core/attachments/uploads.ts). Purged files
 * and deleted resources are left out.
 */
async function carryAttachments(
  db: Db,
  files: Downloads,
  { id, account_id }: { readonly id: string; readonly account_id: string },
): Promise<NewAttachment[]> {
  const rows = await db.query(READ_ATTACHMENTS, id);
  const refs = rows.flatMap((row) => refOf(row.resource_type, row.resource_id) ?? []);
  const resources = await readEntities(db, account_id, refs, null);
  const carried = await Promise.all(
    rows.map(async (row): Promise<Omit<NewAttachment, 'position'> | undefined> => {
      const { s3_key: key, filename, content_type: contentType } = row;
      const ref = refOf(row.resource_type, row.resource_id);
      const copy = { ...row, id: newId('attachment') };
      if (key !== null) {
        return { ...copy, download_url: await files.presignDownload({ key, filename, contentType }) };
      }
      if (ref === undefined) return copy;
      const resource = resources.get(refKey(ref));
      return resource && { ...copy, resource };
    }),
  );
  return carried.filter((copy) => copy !== undefined).map((copy, position) => ({ ...copy, position }));
}

const READ_ATTACHMENTS = statement<[messageId: string], StoredAttachment>('read-attachments-to-carry')`
    SELECT id, kind, s3_key, filename, content_type, size_bytes, url, resource_type, resource_id, picture_metadata
    FROM attachments
    WHERE message_id = $1 AND removed_at IS NULL ORDER BY position`;
