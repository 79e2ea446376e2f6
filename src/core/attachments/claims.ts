import { ApiError, invalid, notFound } from '@parley/protocol/errors/errors.ts';
import type { Attachment } from '@parley/protocol/resources/attachment.ts';
import type { AttachmentInput } from '@parley/protocol/resources/chat-message.ts';
import { kindOfUpload } from '@parley/protocol/resources/upload-kind.ts';
import type { Principal } from '../../api/access/principal.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import { cleanPicture } from './pictures/clean-picture.ts';
import type { ObjectStore } from './storage.ts';
import { insertCopy, isComplete, type OpenUpload, readUploads, type Upload } from './uploads.ts';

/** An uploaded file in the form that a message stores. */
export interface ClaimedFile {
  readonly s3_key: string;
  readonly filename: string;
  readonly content_type: string;
  readonly size_bytes: number;
  readonly picture_metadata: Attachment['picture_metadata'];
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
 *
 * Where the account wants it, pictures lose their metadata here, before the message exists. A file
 * that a message has already never changes: a copy takes its place.
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
    named.map(async ([index, input]) => {
      const upload = uploads.get(input.s3_key!)!;
      return [index, await claim(db, store, upload, input, placeOf(index))] as const;
    }),
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
  db: Db,
  store: ObjectStore,
  upload: OpenUpload,
  input: AttachmentInput,
  index: number,
): Promise<ClaimedFile> {
  const { content_type } = upload;
  const stored = await store.sizeOf(upload.s3_key);
  if (stored === undefined || !isComplete(upload, stored)) {
    const param = `attachments[${index}].s3_key`;
    throw new ApiError('resource_conflict', 'The file has not been uploaded yet. Upload it first.', {
      param,
    });
  }
  const filename = input.filename || upload.filename;
  const file = await bind(db, store, upload, stored);
  const download_url = await store.presignDownload({ key: file.s3_key, filename, contentType: content_type });
  return { ...file, filename, content_type, download_url };
}

type BoundFile = Pick<ClaimedFile, 's3_key' | 'size_bytes' | 'picture_metadata'>;

/** Returns the file that the message has, which for a picture may be one without metadata. */
async function bind(db: Db, store: ObjectStore, upload: OpenUpload, stored: number): Promise<BoundFile> {
  const { s3_key: key, content_type: contentType, is_attached, picture_metadata: wanted } = upload;
  const asItIs = { s3_key: key, size_bytes: stored };
  if (wanted === 'keep' || kindOfUpload(contentType) === 'file') return { ...asItIs, picture_metadata: null };
  const placeFor = async (size: number) => (is_attached ? insertCopy(db, key, size) : key);
  const clean = await cleanPicture(store, { key, contentType }, placeFor);
  if (clean === null) return { ...asItIs, picture_metadata: 'kept' };
  return { s3_key: clean.key, size_bytes: clean.size, picture_metadata: 'removed' };
}
