import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** What a cipher's key is made of (HKDF with SHA-256). */
export interface SealedWith {
  readonly secret: string;
  /** Bytes that belong to this one value, such as its id: it cannot be opened in another place. */
  readonly salt: string | Buffer;
  /** Names the purpose, for which no other code derives a key. */
  readonly purpose: string;
}

/** Returns the bytes encrypted: nonce, tag and ciphertext. */
export function seal(bytes: Buffer, by: SealedWith): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(by), nonce);
  const sealed = Buffer.concat([cipher.update(bytes), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

/** Throws if the bytes are not the result of `seal` with the same secret, salt and purpose. */
export function unseal(sealed: Buffer, by: SealedWith): Buffer {
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, keyOf(by), nonce, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
}

function keyOf({ secret, salt, purpose }: SealedWith): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, purpose, 32));
}
