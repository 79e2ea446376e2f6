import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { customAlphabet } from 'nanoid';

/** The prefix of every API key; no access token has it. */
export const API_KEY_PREFIX = 'parley_';

/** The prefix of every key of an operator; no API key has it. */
export const OPERATOR_KEY_PREFIX = 'parleyop_';

/** `key` is shown once; `hash` and `redacted` are stored (docs/contract.md#api-keys). */
export interface NewApiKey {
  /** The prefix, 32 random characters, 6 of checksum. */
  readonly key: string;
  readonly hash: Buffer;
  /** `parley_…wxyz`: the last four characters. */
  readonly redacted: string;
}

export function newApiKey(prefix = API_KEY_PREFIX): NewApiKey {
  const unchecked = prefix + random();
  const key = unchecked + checksumOf(unchecked);
  return { key, hash: hashApiKey(key), redacted: `${prefix}…${key.slice(-4)}` };
}

/** Returns SHA-256 without salt: a key has 190 random bits, so it cannot be guessed. */
export function hashApiKey(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

/** Returns whether the form and the checksum are right: a mistyped key costs no look-up. */
export function hasValidChecksum(key: string, prefix = API_KEY_PREFIX): boolean {
  if (!key.startsWith(prefix) || !FORM.test(key.slice(prefix.length))) return false;
  return checksumOf(key.slice(0, -CHECKSUM_LENGTH)) === key.slice(-CHECKSUM_LENGTH);
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 32;
/** 62^6 is more than 2^32. */
const CHECKSUM_LENGTH = 6;
const FORM = new RegExp(`^[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);
const random = customAlphabet(ALPHABET, RANDOM_LENGTH);

/** Returns the CRC-32 of the text, in base 62. */
function checksumOf(text: string): string {
  let digits = '';
  for (let rest = crc32(text); digits.length < CHECKSUM_LENGTH; rest = Math.floor(rest / ALPHABET.length)) {
    digits = ALPHABET[rest % ALPHABET.length] + digits;
  }
  return digits;
}
