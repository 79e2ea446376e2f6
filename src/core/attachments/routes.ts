import { invalid } from '@parley/protocol/errors/errors.ts';
import { CUSTOMER_UPLOADS } from '@parley/protocol/resources/customer-uploads.ts';
import { UploadRequest, UploadUrl } from '@parley/protocol/resources/upload.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import { requireRoomOfCustomer } from './customer-uploads.ts';
import type { ObjectStore } from './storage.ts';
import { insertUpload, newUploadUrl } from './uploads.ts';

/** Returns the routes of attachments (docs/contract.md#attachments). */
export function attachmentRoutes(store: ObjectStore): readonly Route[] {
  return [
    defineRoute({
      name: 'create_upload_url',
      method: 'POST',
      path: '/v1/messaging/attachments/upload-url',
      summary: 'Create Upload URL: where to send a file that a message is to carry',
      since: '1.1.harbor',
      permission: 'messaging:create',
      customers: true,
      body: UploadRequest(store.maxBytes),
      rules({ principal, body }) {
        const { bytes } = CUSTOMER_UPLOADS;
        if (!principal.customer || body.size_bytes <= bytes) return;
        throw invalid('size_bytes', `Must be at most ${bytes.toLocaleString('en')} for customers.`);
      },
      status: 201,
      response: UploadUrl,
      // The URL is a credential: its holder may use it.
      secret: true,
      prepare: ({ body }) => newUploadUrl(store, body.content_type, body.size_bytes),
      async change(tx, { principal, body }, upload) {
        const { filename, content_type, size_bytes } = body;
        const file = {
          s3_key: upload.s3_key,
          account_id: principal.accountId,
          actor_id: principal.actor.id,
          filename,
          content_type,
          size_bytes,
        };
        if (principal.customer) await requireRoomOfCustomer(tx, principal, size_bytes);
        await insertUpload(tx, file, store.accountBytes);
        return upload;
      },
    }),
  ];
}
