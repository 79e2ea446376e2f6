import type { StoredPart } from '@parley/mail-reader/parsed-mail.ts';
import { newId } from '@parley/protocol/ids.ts';
import { MESSAGE_LIMITS } from '@parley/protocol/resources/chat-message.ts';
import { UPLOAD_LIMITS } from '@parley/protocol/resources/upload.ts';
import { kindOfUpload } from '@parley/protocol/resources/upload-kind.ts';
import type { ObjectStore } from '../../../core/attachments/storage.ts';
import type { NewAttachment, NewMessage } from '../../../core/messages/rows/new-message.ts';
import type { MailHead } from '../mails/mail-store.ts';
import type { Arrival } from '../transports/intake.ts';
import { cutTo, storable } from './storable.ts';

/**
 * Returns the message of a mail: its text, in an answer without quotes and signature, which remain
 * in the mail's own resource. A customer's message is external; a note of the team or of a machine
 * is internal.
 */
export async function messageOf(
  store: Pick<ObjectStore, 'presignDownload'>,
  { mail }: Arrival,
  { id, account_id, conversation_id, actor_id, purpose, subject }: MailHead,
  { isAnswer }: { readonly isAnswer: boolean },
): Promise<NewMessage> {
  const isExternal = purpose === 'message';
  const text = storable(isAnswer ? mail.visibleText : mail.text).trim();
  return {
    id: newId('message'),
    account_id,
    conversation_id: conversation_id!,
    kind: 'email',
    visibility: isExternal ? 'external' : 'internal',
    channel: 'email',
    body: cutTo(text, MESSAGE_LIMITS.bodyCharacters) || null,
    subject: subject && cutTo(subject, MESSAGE_LIMITS.subjectCharacters),
    cc: null,
    mentions: null,
    sender_id: actor_id,
    author_id: actor_id,
    reply_to_id: null,
    resource_type: null,
    resource_id: null,
    agent_run_id: null,
    streaming_state: null,
    client_message_id: id,
    attachments: await Promise.all(
      mail.attachments.map((part, position) => attachmentOf(store, part, position)),
    ),
  };
}

async function attachmentOf(
  store: Pick<ObjectStore, 'presignDownload'>,
  { key, filename: given, contentType: type, sizeBytes }: StoredPart,
  position: number,
): Promise<NewAttachment> {
  const filename = cutTo(storable(given).trim(), UPLOAD_LIMITS.filenameCharacters) || 'attachment';
  const contentType = cutTo(storable(type), UPLOAD_LIMITS.contentTypeCharacters).toLowerCase();
  return {
    id: newId('attachment'),
    position,
    kind: kindOfUpload(contentType),
    s3_key: key,
    filename,
    content_type: contentType,
    size_bytes: sizeBytes,
    url: null,
    resource_type: null,
    resource_id: null,
    download_url: await store.presignDownload({ key, filename, contentType }),
  };
}
