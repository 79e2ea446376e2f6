/** How many bytes say of which type a picture is. */
export const HEAD_BYTES = 12;

/** The first bytes of files of these types, as hexadecimal digits. */
const BEGINNINGS = {
  'image/png': /^89504e470d0a1a0a/,
  'image/jpeg': /^ffd8ff/,
  'image/gif': /^474946383[79]61/,
  'image/webp': /^52494646.{8}57454250/,
} as const;

export type PictureType = keyof typeof BEGINNINGS;

export const PICTURE_TYPES = Object.keys(BEGINNINGS) as readonly PictureType[];

/** Returns the type of a picture by its first bytes, or undefined. */
export function pictureTypeOf(head: Buffer): PictureType | undefined {
  const digits = head.toString('hex');
  return PICTURE_TYPES.find((type) => BEGINNINGS[type].test(digits));
}
