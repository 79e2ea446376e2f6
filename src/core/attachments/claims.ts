import { ApiError, invalid, notFound } from '@parley/protocol/errors/errors.ts';
import type { AttachmentInput } from '@parley/protocol/resources/chat-message.ts';
import { kindOfUpload } from '@parley/protocol/resources/upload-kind.ts';
import type { Principal } from '../../api/access/principal.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import type { ObjectStore } from './storage.ts';
import { readUploads, type Upload } from './uploads.ts';

/** An uploaded file in the form that a message stores. */
export interface ClaimedFile {
  readonly s3_key: string;
  readonly filename: string;
  readonly content_type: string;
  readonly size_bytes: number;
  /** Signed now, for the answer and the event of the message itself; not stored. */
  readonly download_url: string;
}

/**
 * Returns the files among a message's attachments, by their position in it
 * (docs/contract.md#attachments). The message may rename a file; its other fields must equal those
 * of the upload. `places`: their positions in the request, if the order differs. Rejects with
 * ApiError: `resource_not_found` for a key that the account, or a customer itself, did not get
 * within the last day; `resource_conflict` if the bytes were not uploaded; `validation_failed` if
 * the message contradicts the upload; or the error of the store.
 */
export async function claimUploads(
  db: Db,
  store: ObjectStore,
  principal: Principal,
  attachments: readonly AttachmentInput[],
  places?: readonly number[],
): Promise<ReadonlyMap<number, ClaimedFile>> {
  const named = [...attachments.entries()].filter(([, { kind }]) => kind === 'file' || kind === 'image');
  if (named.length === 0) return NONE;
  const keys = new Set(named.map(([, { s3_key }]) => s3_key!));
  const { accountId, customer, actor } = principal;
  const uploads = await readUploads(db, accountId, [...keys], customer ? actor.id : null);
  const placeOf = (index: number) => places?.[index] ?? index;
  for (const [index, input] of named) checkClaim(placeOf(index), input, uploads.get(input.s3_key!));
  const claimed = await Promise.all(
    named.map(async ([index, input]) => [index, await claim(store, placeOf(index), input, uploads)] as const),
  );
  return new Map(claimed);
}

const NONE: ReadonlyMap<number, ClaimedFile> = new Map();

function checkClaim(index: number, input: AttachmentInput, upload: Upload | undefined): void {
  const at = `attachments[${index}]`;
  if (upload === undefined) throw notFound('upload', `${at}.s3_key`);
  const { content_type: contentType, size_bytes: sizeBytes } = upload;
  if (input.content_type && input.content_type.toLowerCase() !== contentType.toLowerCase()) {
    throw invalid(
      `${at}.content_type`,
      `The file was uploaded as ${contentType}. Send this type, or leave it out.`,
    );
  }
  if (input.size_bytes !== undefined && input.size_bytes !== sizeBytes) {
    throw invalid(`${at}.size_bytes`, `The file has ${sizeBytes} bytes. Send this size, or leave it out.`);
  }
  const kind = kindOfUpload(contentType);
  if (input.kind === 'image' && kind !== 'image') {
    throw invalid(`${at}.content_type`, `The file was uploaded as ${contentType}, which is not an image.`);
  }
  if (input.kind !== kind) {
    throw invalid(`${at}.kind`, `The file was uploaded as ${contentType}. Attach it with the kind ${kind}.`);
  }
}

async function claim(
  store: ObjectStore,
  index: number,
  input: AttachmentInput,
  uploads: ReadonlyMap<string, Upload>,
): Promise<ClaimedFile> {
  const upload = uploads.get(input.s3_key!)!;
  const { s3_key, content_type, size_bytes } = upload;
  if ((await store.sizeOf(s3_key)) !== size_bytes) {
    const param = `attachments[${index}].s3_key`;
    throw new ApiError('resource_conflict', 'The file has not been uploaded yet. Upload it first.', {
      param,
    });
  }
  const filename = input.filename || upload.filename;
  const download_url = await store.presignDownload({ key: s3_key, filename, contentType: content_type });
  return { s3_key, filename, content_type, size_bytes, download_url };
}
