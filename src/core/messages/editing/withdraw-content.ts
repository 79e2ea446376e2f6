import { sql } from 'kysely';
import { rewriteAnswersAbout } from '../../../platform/access/stored-answers.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { enqueue } from '../../../platform/db/queue/outbox.ts';
import { withdrawUploads } from '../../attachments/uploads.ts';
import { enqueueRowsChanged } from '../../events/changes.ts';
import type { MessageRow } from '../../resources/message.ts';
import { withoutContent } from '../../resources/without-content.ts';
import { outsideUpdateOf } from '../events.ts';
import { type WithdrawnMail, withdrawMail } from '../mail-content-store.ts';
import { MESSAGE_DELETED } from '../outbox-topics.ts';
import { removePin } from '../pins/pin.ts';
import { removeReactions } from '../reactions/reactions.ts';
import { deleteAttachments, updateMessage } from '../store.ts';

/** The reason for which a message was redacted, and the actor that redacted it. */
export interface RedactedBy {
  readonly by: string;
  readonly reason: string;
}

/**
 * Replaces a locked, sent message by a tombstone in the same place of the timeline. Removes its
 * content, revisions, reactions, pin and attachments, also from the stored answers of its own
 * requests and from its mail. Publishes the change and has its notifications withdrawn. With
 * `redacted`, the tombstone shows by whom and why. The caller has checked that there is no legal
 * hold.
 */
export async function withdrawContent(tx: Tx, row: MessageRow, redacted?: RedactedBy): Promise<MessageRow> {
  await removeParts(tx, row);
  const mail = await removeMail(tx, row);
  const tombstone = await updateMessage(tx, row, {
    ...NO_CONTENT,
    ...(mail?.is_canceled && { email_status: 'canceled' }),
    // The time of the statement, so that both columns have the same.
    deleted_at: sql<string>`statement_timestamp()`,
    ...(redacted !== undefined && {
      redaction: sql<string>`${JSON.stringify(redacted)}::jsonb || jsonb_build_object('at', ${NOW})`,
    }),
  });
  await enqueueRowsChanged(tx, 'message.updated', [row]);
  await enqueue(tx, MESSAGE_DELETED, { message_id: row.id, conversation_id: row.conversation_id });
  return tombstone;
}

/**
 * Removes the content of a locked message that ended outside the timeline. The caller has checked
 * that the conversation is not under legal hold.
 */
export async function withdrawOutside(tx: Tx, row: MessageRow): Promise<void> {
  await removeParts(tx, row);
  await updateMessage(tx, row, { ...NO_CONTENT, deleted_at: sql<string>`statement_timestamp()` });
  await enqueueRowsChanged(tx, outsideUpdateOf(row), [row]);
}

/** Removes the rows of other tables that belong to a message. */
async function removeParts(tx: Tx, row: MessageRow): Promise<void> {
  await withdrawUploads(tx, await deleteAttachments(tx, row));
  await tx.kysely.deleteFrom('message_revisions').where('message_id', '=', row.id).execute();
  await removeReactions(tx, row);
  await removePin(tx, row);
  const ids = new Set([row.id]);
  await rewriteAnswersAbout(tx, [row.id], (answer) => withoutContent(answer, ids));
}

async function removeMail(tx: Tx, { id }: MessageRow): Promise<WithdrawnMail | undefined> {
  const mail = await withdrawMail(tx, id);
  if (mail === undefined) return undefined;
  if (mail.source_key !== null) await withdrawUploads(tx, [mail.source_key]);
  const ids = new Set([mail.id]);
  await rewriteAnswersAbout(tx, [mail.id], (answer) => withoutContent(answer, ids));
  return mail;
}

const NO_CONTENT = {
  body: null,
  subject: null,
  cc: null,
  mentions: null,
  resource_type: null,
  resource_id: null,
  has_attachments: false,
} as const;

/** The format in which db/ reads times. */
const NOW = sql<string>`to_char(statement_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
