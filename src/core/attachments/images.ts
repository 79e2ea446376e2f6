import { ApiError, type ErrorCondition, invalid, notFound } from '@parley/protocol/errors/errors.ts';
import { AVATAR_BYTES } from '@parley/protocol/resources/avatar.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import { cleanPicture } from './pictures/clean-picture.ts';
import { HEAD_BYTES, PICTURE_TYPES, type PictureType, pictureTypeOf } from './pictures/picture-type.ts';
import type { ObjectStore } from './storage.ts';
import { insertCopy, isComplete, readUploads } from './uploads.ts';

/** An uploaded picture whose first bytes are those of its type. */
export interface UploadedImage {
  readonly s3_key: string;
  readonly content_type: PictureType;
}

/** The errors of routes that read an image from the store. */
export const IMAGE_REFUSALS = [
  'external_service_error',
  'timeout',
  'connection_error',
] as const satisfies ErrorCondition[];

/**
 * Returns the upload as a picture that pages may show under its own type, which cannot carry
 * scripts, unlike SVG. A picture with metadata becomes a file of its own without them, because a
 * message may have the upload; one that cannot be read stays as it is. Rejects with ApiError (with
 * this param): `resource_not_found`; `resource_conflict` if the bytes were not uploaded;
 * `validation_failed` for another type, other bytes or too many; or with the error of the store.
 */
export async function readImage(
  db: Db,
  store: Pick<ObjectStore, 'open' | 'putStream' | 'read' | 'sizeOf'>,
  { accountId, key, param }: { readonly accountId: string; readonly key: string; readonly param: string },
): Promise<UploadedImage> {
  const upload = (await readUploads(db, accountId, [key])).get(key);
  if (upload === undefined) throw notFound('upload', param);
  const announced = upload.content_type.toLowerCase();
  const type = PICTURE_TYPES.find((one) => one === announced);
  if (type === undefined) {
    throw invalid(
      param,
      `The file was uploaded as ${upload.content_type}. Use one of ${PICTURE_TYPES.join(', ')}.`,
    );
  }
  if (upload.size_bytes > AVATAR_BYTES) {
    throw invalid(param, `The file has ${upload.size_bytes} bytes. Use one of at most ${AVATAR_BYTES}.`);
  }
  if (!isComplete(upload, await store.sizeOf(key))) {
    throw new ApiError('resource_conflict', 'The file has not been uploaded yet. Upload it first.', {
      param,
    });
  }
  const head = await store.read(key, HEAD_BYTES);
  if (head === undefined || pictureTypeOf(head) !== type) {
    throw invalid(
      param,
      `The bytes are not those of the type ${type}. Upload the picture under its own type.`,
    );
  }
  const clean = await cleanPicture(store, { key, contentType: type }, (size) => insertCopy(db, key, size));
  return { s3_key: clean?.key ?? key, content_type: type };
}
