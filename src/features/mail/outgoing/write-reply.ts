import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { Selectable } from 'kysely';
import { downloadName } from '../../../core/attachments/download-name.ts';
import type { ObjectStore } from '../../../core/attachments/storage.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import type { MessageRow } from '../../../core/resources/message.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import type { MailRow } from '../mails/mail-store.ts';
import { makeBounceAddress } from './bounce-address.ts';
import type { WrittenMail } from './compose-mail.ts';
import type { FileLinks } from './file-links.ts';
import type { MailKey } from './mail-key.ts';
import { replyText } from './reply-text.ts';
import { readUnreadAnswers } from './unread-store.ts';

/** Bytes of all files of a mail: 13.7 MB when encoded, which most servers accept. */
const MAX_ATTACHED_BYTES = 10 * 1024 * 1024;

/**
 * Writes the mail of a message in its present state: a reply by mail, or an answer in the chat with
 * all that its customer has not read (unread-mails.ts).
 */
export async function writeReply(
  { database, store }: Pick<NodeParts, 'database' | 'store'>,
  key: MailKey,
  links: FileLinks,
  mail: MailRow,
): Promise<WrittenMail> {
  const [message] = await database.query(READ_MESSAGE, mail.message_id, mail.inbox_id);
  const isChat = message?.channel === 'message';
  if (message === undefined || message.is_deleted) return { unsent: 'canceled', reason: 'message_deleted' };
  if (message.inbox_removed) return { unsent: 'canceled', reason: 'inbox_removed' };
  if (!message.is_active) return { unsent: 'deferred', reason: 'account_inactive' };
  const carried = isChat
    ? await readUnreadAnswers(database, mail.id)
    : [{ ...message, id: mail.message_id! }];
  if (carried.length === 0) return { unsent: 'canceled', reason: 'read' };
  const withFiles = carried.filter(({ has_attachments }) => has_attachments).map(({ id }) => id);
  const attachments = withFiles.length > 0 ? await database.query(READ_FILES, withFiles) : [];
  const files = attachments.filter((file) => file.s3_key !== null);
  const isAttached = files.reduce((sum, { size_bytes }) => sum + (size_bytes ?? 0), 0) <= MAX_ATTACHED_BYTES;
  const nameOf = ({ filename }: AttachmentToMail) => downloadName(filename ?? 'file');
  const until = links.end();
  const { text, html } = replyText({
    body: carried.flatMap(({ body }) => body ?? []).join('\n\n'),
    accountName: message.account_name,
    links: attachments.flatMap(({ url }) => url ?? []),
    files: isAttached ? [] : files.map((file) => ({ name: nameOf(file), url: links.make(file.id, until) })),
    filesUntil: until,
  });
  return {
    sender: makeBounceAddress(key, mail.id, mail.from_address!),
    isGenerated: isChat,
    subject: mail.subject ?? '',
    text,
    html,
    attachments: (isAttached ? files : []).map((file) => ({
      filename: nameOf(file),
      contentType: file.content_type ?? 'application/octet-stream',
      bytes: readFile(store, file.s3_key!),
    })),
  };
}

async function* readFile(store: Pick<ObjectStore, 'open'>, key: string): AsyncIterable<Buffer> {
  const file = await store.open(key);
  if (file === undefined) throw new ApiError('resource_not_found', 'The file of an attachment is gone.');
  yield* file.read();
}

interface MessageText extends Pick<MessageRow, 'body' | 'has_attachments' | 'channel'> {
  readonly account_name: string;
  readonly is_active: boolean;
  readonly is_deleted: boolean;
  readonly inbox_removed: boolean;
}

const READ_MESSAGE = statement<[messageId: string | null, inboxId: string | null], MessageText>(
  'read-message-to-mail',
)`
    SELECT m.body, m.has_attachments, m.channel, a.name AS account_name, a.subscription = 'active' AS is_active,
      m.status <> 'sent' OR num_nonnulls(m.deleted_at, c.deleted_at, a.deleted_at) > 0 AS is_deleted,
      i.deleted_at IS NOT NULL AS inbox_removed
    FROM messages m JOIN conversations c ON c.id = m.conversation_id JOIN accounts a ON a.id = m.account_id
      LEFT JOIN inboxes i ON i.id = $2
    WHERE m.id = $1`;

type AttachmentToMail = Pick<
  Selectable<Schema['attachments']>,
  'id' | 's3_key' | 'filename' | 'content_type' | 'size_bytes' | 'url'
>;

// Resources of the app are only for the team.
const READ_FILES = statement<[messageIds: readonly string[]], AttachmentToMail>('read-attachments-to-mail')`
    SELECT f.id, f.s3_key, f.filename, f.content_type, f.size_bytes, f.url
    FROM attachments f JOIN messages m ON m.id = f.message_id
    WHERE f.message_id = ANY($1) AND f.removed_at IS NULL AND f.kind <> 'resource' ORDER BY m.sequence, f.position`;
