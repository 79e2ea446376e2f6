import { Type } from 'typebox';
import { Nullable } from '../schema/schema.ts';

/** Largest image of an actor. */
export const AVATAR_BYTES = 2 * 1024 * 1024;

/**
 * The field by which a body sets the image of an actor; null clears it (docs/contract.md#avatars).
 */
export const AvatarKey = Nullable(Type.String({ maxLength: 64 }));

export const AVATAR_KEY_TEXT =
  'The `s3_key` of an uploaded image of the type `image/png`, `image/jpeg`, `image/gif` or `image/webp`, of 2 MiB at most, that is to be the avatar; null clears it.';

export const AVATAR_URL_TEXT =
  'Address of the image, which works without a credential until the image is replaced or cleared. Null where there is none.';
