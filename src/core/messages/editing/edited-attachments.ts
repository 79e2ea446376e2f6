import { ApiError, invalid, missingField, notFound, repeated } from '@parley/protocol/errors/errors.ts';
import type { AttachmentInput, EditMessageBody } from '@parley/protocol/resources/chat-message.ts';
import type { Metadata, MetadataChanges } from '@parley/protocol/resources/metadata.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import type { ObjectStore } from '../../attachments/storage.ts';
import { withdrawUploads } from '../../attachments/uploads.ts';
import type { MessageKey } from '../../resources/message.ts';
import { mergedMetadata } from '../../resources/metadata.ts';
import { deleteAttachments, insertAttachments } from '../rows/message-store.ts';
import type { NewAttachment } from '../rows/new-message.ts';
import { checkAttachment } from '../rules/send-rules.ts';
import { newAttachments } from '../sending/compose.ts';
import { resolveAttachments } from '../sending/resolve.ts';

/** The attachments of an edited message, in their order: kept ones by id, and new ones. */
export type EditedAttachments = readonly (
  | { readonly keeps: string; readonly at: number; readonly metadata?: MetadataChanges | undefined }
  | { readonly adds: NewAttachment }
)[];

/** The changes of an edit to the attachments of a message. */
export interface ReplacedAttachments {
  /** Whether the attachments or their order changed. */
  readonly isReplaced: boolean;
  /** The keys of metadata that changed in kept attachments. */
  readonly metadataKeys: readonly string[];
}

export const NOT_REPLACED: ReplacedAttachments = { isReplaced: false, metadataKeys: [] };

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
  return inputs.map(({ id, metadata }, index) =>
    id === undefined ? { adds: composed[places.indexOf(index)]! } : { keeps: id, at: index, metadata },
  );
}

/**
 * Checks and returns the new attachments, with the index of each in the body. Throws
 * `missing_field` or `validation_failed`.
 */
export function readEditedInputs(inputs: NonNullable<EditMessageBody['attachments']>) {
  const places: number[] = [];
  const added: AttachmentInput[] = [];
  for (const [index, { id, kind, metadata, ...fields }] of inputs.entries()) {
    if (id !== undefined) {
      requireIdAlone(index, { kind, ...fields });
      if (inputs.findIndex((other) => other.id === id) < index) throw repeated(`attachments[${index}].id`);
    } else if (kind === undefined) throw missingField(`attachments[${index}].kind`);
    else {
      const stated = metadata && newMetadata(metadata);
      const input = { kind, ...fields, ...(stated !== undefined && { metadata: stated }) };
      checkAttachment(input, index);
      places.push(index);
      added.push(input);
    }
  }
  return { added, places };
}

/**
 * Replaces the attachments of a locked message and withdraws removed files. Under legal hold no
 * attachment may be removed. Returns the changes. Throws ApiError `resource_not_found`,
 * `validation_failed` or `resource_conflict`.
 */
export async function replaceAttachments(
  tx: Tx,
  message: MessageKey,
  edited: EditedAttachments,
  held: boolean,
): Promise<ReplacedAttachments> {
  const stored = await tx.kysely
    .selectFrom('attachments')
    .selectAll()
    .where('message_id', '=', message.id)
    .orderBy('position')
    .execute();
  const byId = new Map(stored.map((row) => [row.id, row]));
  const kept = new Set<string>();
  const metadataKeys = new Set<string>();
  for (const one of edited) {
    if (!('keeps' in one)) continue;
    const row = byId.get(one.keeps);
    if (row === undefined) throw notFound('attachment', `attachments[${one.at}].id`);
    kept.add(one.keeps);
    const merged = mergedMetadata(row.metadata, one.metadata, `attachments[${one.at}].metadata`);
    if (merged === undefined) continue;
    for (const key of merged.keys) metadataKeys.add(key);
    byId.set(row.id, { ...row, metadata: merged.metadata });
  }
  const isSame =
    edited.length === stored.length &&
    edited.every((one, at) => 'keeps' in one && one.keeps === stored[at]!.id);
  if (isSame && metadataKeys.size === 0) return NOT_REPLACED;
  const removed = stored.filter((row) => !kept.has(row.id));
  if (held && removed.length > 0) {
    const message = 'Attachments cannot be removed while their conversation is under legal hold.';
    throw new ApiError('resource_conflict', message, { param: 'attachments' });
  }
  await deleteAttachments(tx, message);
  const rows = edited.map((one, position) => ({
    ...('keeps' in one ? byId.get(one.keeps)! : one.adds),
    position,
  }));
  await insertAttachments(tx, message, rows);
  const present = new Set(rows.map(({ s3_key }) => s3_key));
  const gone = removed.flatMap(({ s3_key }) => (s3_key === null || present.has(s3_key) ? [] : s3_key));
  await withdrawUploads(tx, gone);
  return { isReplaced: !isSame, metadataKeys: [...metadataKeys] };
}

/** Returns metadata without its nulls, which count as absent, as in Send Message. */
function newMetadata(metadata: MetadataChanges): Metadata {
  return Object.fromEntries(
    Object.entries(metadata).filter((entry): entry is [string, string] => entry[1] !== null),
  );
}

function requireIdAlone(index: number, fields: object): void {
  const foreign = Object.entries(fields).find(([, value]) => value !== undefined);
  if (foreign === undefined) return;
  throw invalid(
    `attachments[${index}].${foreign[0]}`,
    'An attachment that is kept has its id, and no other field but metadata.',
  );
}
