import type { Database } from '../db/database.ts';
import { defineRoute, inTransaction, type Route } from '../http/route.ts';
import { newId } from '../protocol/ids.ts';
import { UploadRequest, UploadUrl } from '../protocol/resources/upload.ts';
import type { ObjectStore } from './storage.ts';
import { insertUpload } from './uploads.ts';

/** Attachments over REST (docs/contract.md#attachments). */
export function attachmentRoutes(database: Database, store: ObjectStore): readonly Route[] {
  return [
    defineRoute({
      name: 'create_upload_url',
      method: 'POST',
      path: '/v1/messaging/attachments/upload-url',
      summary: 'Create Upload URL: where to send a file that a message is to carry',
      since: '1.1.harbor',
      permission: 'messaging:create',
      body: UploadRequest(store.maxBytes),
      status: 201,
      response: UploadUrl,
      // The URL is a credential: its holder may use it.
      secret: true,
      async handle(call) {
        const { principal, body } = call;
        const key = newId('upload');
        const { filename, content_type, size_bytes } = body;
        const upload = await store.presignUpload({
          key,
          contentType: content_type,
          sizeBytes: size_bytes,
        });
        const answer: UploadUrl = {
          object: 'upload_url',
          s3_key: key,
          method: 'PUT',
          url: upload.url,
          headers: upload.headers,
          expires_at: new Date(upload.expiresAtMs).toISOString(),
        };
        return inTransaction(database, call, async (tx) => {
          const { accountId, actor } = principal;
          await insertUpload(tx, {
            s3_key: key,
            account_id: accountId,
            actor_id: actor.id,
            filename,
            content_type,
            size_bytes,
          });
          return answer;
        });
      },
    }),
  ];
}
