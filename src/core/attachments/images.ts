import { ApiError, type ErrorCondition, invalid, notFound } from '@parley/protocol/errors/errors.ts';
import { AVATAR_BYTES } from '@parley/protocol/resources/avatar.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import type { ObjectStore } from './storage.ts';
import { readUploads } from './uploads.ts';

/** An uploaded picture whose first bytes are those of its type. */
export interface UploadedImage {
  readonly s3_key: string;
  readonly content_type: ImageType;
}

/** The errors of routes that read an image from the store. */
export const IMAGE_REFUSALS = [
  'external_service_error',
  'timeout',
  'connection_error',
] as const satisfies ErrorCondition[];

/**
 * Returns the upload as a picture that pages may show under its own type, which cannot carry
 * scripts, unlike SVG. Rejects with ApiError (with this param): `resource_not_found`;
 * `resource_conflict` if the bytes were not uploaded; `validation_failed` for another type, other
 * bytes or too many; or with the error of the store.
 */
export async function readImage(
  db: Db,
  store: Pick<ObjectStore, 'read' | 'sizeOf'>,
  { accountId, key, param }: { readonly accountId: string; readonly key: string; readonly param: string },
): Promise<UploadedImage> {
  const upload = (await readUploads(db, accountId, [key])).get(key);
  if (upload === undefined) throw notFound('upload', param);
  const type = upload.content_type.toLowerCase();
  if (!isImageType(type)) {
    throw invalid(
      param,
      `The file was uploaded as ${upload.content_type}. Use one of ${Object.keys(BEGINNINGS).join(', ')}.`,
    );
  }
  if (upload.size_bytes > AVATAR_BYTES) {
    throw invalid(param, `The file has ${upload.size_bytes} bytes. Use one of at most ${AVATAR_BYTES}.`);
  }
  if ((await store.sizeOf(key)) !== upload.size_bytes) {
    throw new ApiError('resource_conflict', 'The file has not been uploaded yet. Upload it first.', {
      param,
    });
  }
  const beginning = await store.read(key, BEGINNING_BYTES);
  if (beginning === undefined || !BEGINNINGS[type].test(beginning.toString('hex'))) {
    throw invalid(
      param,
      `The bytes are not those of the type ${type}. Upload the picture under its own type.`,
    );
  }
  return { s3_key: key, content_type: type };
}

const BEGINNING_BYTES = 12;

/** The first bytes of files of these types, as hexadecimal digits. */
const BEGINNINGS = {
  'image/png': /^89504e470d0a1a0a/,
  'image/jpeg': /^ffd8ff/,
  'image/gif': /^474946383[79]61/,
  'image/webp': /^52494646.{8}57454250/,
} as const;

type ImageType = keyof typeof BEGINNINGS;

function isImageType(type: string): type is ImageType {
  return Object.hasOwn(BEGINNINGS, type);
}
