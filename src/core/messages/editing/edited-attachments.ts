import { ApiError, invalid, missingField, notFound, repeated } from '../../../contract/protocol/errors.ts';
import type { AttachmentInput, EditMessageBody } from '../../../contract/protocol/resources/chat-message.ts';
import type { Principal } from '../../../platform/access/principal.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { ObjectStore } from '../../attachments/storage.ts';
import { withdrawUploads } from '../../attachments/uploads.ts';
import type { MessageKey } from '../../resources/message.ts';
import { newAttachments } from '../sending/compose.ts';
import { resolveAttachments } from '../sending/resolve.ts';
import { checkAttachment } from '../sending/send-rules.ts';
import type { NewAttachment } from '../timeline/new-message.ts';

/** The attachments of an edited message, in their order: kept ones by id, and new ones. */
export type EditedAttachments = readonly (
  | { readonly keeps: string; readonly at: number }
  | { readonly adds: NewAttachment }
)[];

/**
 * Claims the uploads among the new attachments. Returns the attachments of the body, or undefined
 * if it does not change them. Throws ApiError like Send Message.
 */
export async function claimEdited(
  db: Db,
  store: ObjectStore,
  principal: Principal,
  { attachments: inputs }: EditMessageBody,
): Promise<EditedAttachments | undefined> {
  if (inputs === undefined) return undefined;
  const { added, places } = readEditedInputs(inputs);
  const resolved = await resolveAttachments(db, store, principal, added, places);
  const composed = newAttachments(added, resolved);
  return inputs.map(({ id }, index) =>
    id === undefined ? { adds: composed[places.indexOf(index)]! } : { keeps: id, at: index },
  );
}

interface EditedInputs {
  readonly added: readonly AttachmentInput[];
  /** The index of each attachment in the body. */
  readonly places: readonly number[];
}

/** Checks and returns the new attachments. Throws `missing_field` or `validation_failed`. */
export function readEditedInputs(inputs: NonNullable<EditMessageBody['attachments']>): EditedInputs {
  const places: number[] = [];
  const added: AttachmentInput[] = [];
  for (const [index, { id, kind, ...fields }] of inputs.entries()) {
    if (id !== undefined) {
      requireIdAlone(index, { kind, ...fields });
      if (inputs.findIndex((other) => other.id === id) < index) throw repeated(`attachments[${index}].id`);
    } else if (kind === undefined) throw missingField(`attachments[${index}].kind`);
    else {
      checkAttachment({ kind, ...fields }, index);
      places.push(index);
      added.push({ kind, ...fields });
    }
  }
  return { added, places };
}

/**
 * Replaces the attachments of a locked message and withdraws the files of removed ones. Under legal
 * hold none may be removed. Returns whether anything changed. Throws ApiError `resource_not_found`,
 * `validation_failed` or `resource_conflict`.
 */
export async function replaceAttachments(
  tx: Tx,
  { id, conversation_id }: MessageKey,
  edited: EditedAttachments,
  held: boolean,
): Promise<boolean> {
  const stored = await tx.query(READ, id);
  const byId = new Map(stored.map((row) => [row.id, row]));
  const kept = new Set<string>();
  for (const one of edited) {
    if (!('keeps' in one)) continue;
    const param = `attachments[${one.at}].id`;
    if (!byId.has(one.keeps)) throw notFound('attachment', param);
    kept.add(one.keeps);
  }
  const isSame =
    edited.length === stored.length &&
    edited.every((one, at) => 'keeps' in one && one.keeps === stored[at]!.id);
  if (isSame) return false;
  const removed = stored.filter((row) => !kept.has(row.id));
  if (held && removed.length > 0) {
    const message = 'Attachments cannot be removed while their conversation is under legal hold.';
    throw new ApiError('resource_conflict', message, { param: 'attachments' });
  }
  await tx.query(DELETE, id);
  const rows = edited.map((one, position) => {
    if ('keeps' in one) return { ...byId.get(one.keeps)!, position };
    const { download_url: _, resource: __, ...columns } = one.adds;
    return { ...columns, position };
  });
  if (rows.length > 0) await tx.query(INSERT, id, conversation_id, JSON.stringify(rows));
  const present = new Set(rows.map(({ s3_key }) => s3_key));
  const gone = removed.flatMap(({ s3_key }) => (s3_key === null || present.has(s3_key) ? [] : s3_key));
  await withdrawUploads(tx, gone);
  return true;
}

function requireIdAlone(index: number, fields: object): void {
  const foreign = Object.entries(fields).find(([, value]) => value !== undefined);
  if (foreign === undefined) return;
  throw invalid(
    `attachments[${index}].${foreign[0]}`,
    'An attachment that is kept has its id and no other field.',
  );
}

type StoredAttachment = Omit<NewAttachment, 'download_url' | 'resource'> & {
  readonly removed_at: string | null;
  readonly created_at: string;
};

const COLUMNS = `id, position, kind, s3_key, filename, content_type, size_bytes, url, resource_type, resource_id,
      removed_at, created_at`;

const READ = statement<[messageId: string], StoredAttachment>('read-attachments-to-edit')`
    SELECT ${COLUMNS} FROM attachments WHERE message_id = $1 ORDER BY position`;

const DELETE = statement<[messageId: string]>('delete-attachments-to-edit')`
    DELETE FROM attachments WHERE message_id = $1`;

const INSERT = statement<[messageId: string, conversationId: string, rows: string]>(
  'insert-edited-attachments',
)`
    INSERT INTO attachments (message_id, conversation_id, ${COLUMNS})
    SELECT $1, $2, id, position, kind, s3_key, filename, content_type, size_bytes, url, resource_type, resource_id,
      removed_at, coalesce(created_at, clock_timestamp())
    FROM json_to_recordset($3::json) AS r(id text, position integer, kind text, s3_key text, filename text,
      content_type text, size_bytes bigint, url text, resource_type text, resource_id text, removed_at timestamptz,
      created_at timestamptz)`;
