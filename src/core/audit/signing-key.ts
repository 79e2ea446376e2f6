import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
  sign,
  verify,
} from 'node:crypto';
import { link, mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson } from '@parley/protocol/json/canonical-json.ts';
import { syncDirectory } from '../../platform/db/sync-directory.ts';

/** A document to sign. `object` names its kind, so that it cannot pass for one of another kind. */
export interface Signable {
  readonly object: string;
}

interface Signature {
  /** The first 16 hex digits of the SHA-256 of the public key. */
  readonly key_id: string;
  /** Base64url of 32 bytes. */
  readonly public_key: string;
  /** Base64url of the ed25519 signature of the canonical JSON (RFC 8785) of all other fields. */
  readonly signature: string;
}

export type Signed<Document extends Signable = Signable> = Document & Signature;

export type Verdict = 'valid' | 'invalid' | 'unknown_key';

/** Public keys whose signatures count. */
export class TrustedKeys {
  readonly #keys: ReadonlyMap<string, KeyObject>;

  /** `publicKeys`: base64 of 32 bytes each. Throws an Error of one line if one is invalid. */
  constructor(publicKeys: readonly string[]) {
    this.#keys = new Map(publicKeys.map(readPublicKey).map((key) => [idOf(key), key]));
  }

  get ids(): string[] {
    return [...this.#keys.keys()];
  }

  /** Base64url of 32 bytes each. */
  get publicKeys(): string[] {
    return [...this.#keys.values()].map(textOf);
  }

  /** Accepts a document of any shape, as read from a file or a row. */
  verify(document: object): Verdict {
    const { signature, ...content } = document as Partial<Signature>;
    const key = this.#keys.get(String(content.key_id));
    if (key === undefined) return 'unknown_key';
    if (typeof signature !== 'string') return 'invalid';
    const signed = Buffer.from(signature, 'base64url');
    // The decoder ignores characters outside base64url, and the last bits.
    if (signed.toString('base64url') !== signature) return 'invalid';
    return verify(null, Buffer.from(canonicalJson(content)), key, signed) ? 'valid' : 'invalid';
  }
}

export interface SigningKeyOptions {
  /**
   * A private ed25519 key as PEM or as base64 of its seed, or null for the key in the data
   * directory, which is created if absent.
   */
  readonly key: string | null;
  /** Former public keys, which are still trusted. */
  readonly oldKeys: readonly string[];
  readonly dataDir: string;
}

/** The key that signs for this deployment (docs/operations.md#the-audit-key). */
export class SigningKey {
  readonly id: string;
  /** Base64url of 32 bytes. */
  readonly publicKey: string;
  /** This public key and the former ones. */
  readonly trusted: TrustedKeys;
  readonly #key: KeyObject;

  /** Rejects with an Error of one line, with advice, if there is no key and none can be stored. */
  static async open({ key, oldKeys, dataDir }: SigningKeyOptions): Promise<SigningKey> {
    const privateKey = key === null ? await keyOfDirectory(dataDir) : readPrivateKey(key, 'PARLEY_AUDIT_KEY');
    return new SigningKey(privateKey, oldKeys);
  }

  private constructor(key: KeyObject, oldKeys: readonly string[]) {
    const publicKey = createPublicKey(key);
    this.#key = key;
    this.id = idOf(publicKey);
    this.publicKey = textOf(publicKey);
    this.trusted = new TrustedKeys([this.publicKey, ...oldKeys]);
  }

  /**
   * Returns the document with its signature. Its values must be JSON: undefined is lost in storage.
   */
  sign<Document extends Signable>(document: Document): Signed<Document> {
    const content = { ...document, key_id: this.id, public_key: this.publicKey };
    const signature = sign(null, Buffer.from(canonicalJson(content)), this.#key);
    return { ...content, signature: signature.toString('base64url') };
  }
}

export const KEY_FILE = 'audit-key.pem';

/**
 * Returns the key of the directory. Nodes that start together get the same: it appears whole, once.
 */
async function keyOfDirectory(dataDir: string): Promise<KeyObject> {
  const path = join(dataDir, KEY_FILE);
  try {
    return readPrivateKey((await readIfThere(path)) ?? (await makeKey(dataDir, path)), path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === undefined) throw cause;
    throw new Error(
      `the key that signs the audit cannot be kept in ${dataDir} (${code}): let the user that Parley runs as (uid ${process.geteuid?.()}) read and write there, or set PARLEY_AUDIT_KEY`,
      { cause },
    );
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function makeKey(dataDir: string, path: string): Promise<string> {
  await mkdir(dataDir, { recursive: true });
  const temporary = `${path}.${randomUUID()}`;
  const { privateKey } = generateKeyPairSync('ed25519');
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(privateKey.export({ type: 'pkcs8', format: 'pem' }));
      await file.sync();
    } finally {
      await file.close();
    }
    await link(temporary, path).catch((error: NodeJS.ErrnoException) => {
      // Another node was first: every node uses its key.
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(temporary, { force: true });
  }
  await syncDirectory(dataDir);
  return readFile(path, 'utf8');
}

/** Returns a private key. Throws an Error that names the `source` of the text. */
function readPrivateKey(text: string, source: string): KeyObject {
  try {
    // A PEM in an environment file often has its line ends written as \n.
    const key = text.includes('-----BEGIN')
      ? createPrivateKey(text.replaceAll('\\n', '\n'))
      : createPrivateKey({
          key: Buffer.concat([PKCS8_OF_SEED, bytesOf(text)]),
          format: 'der',
          type: 'pkcs8',
        });
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // The reason could quote a part of the key.
  }
  throw new Error(
    `${source} must be a private ed25519 key: PEM ("openssl genpkey -algorithm ed25519") or base64 of its 32 bytes`,
  );
}

function readPublicKey(text: string): KeyObject {
  try {
    const x = bytesOf(text).toString('base64url');
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  } catch {
    throw new Error(`${text} is not a public ed25519 key: base64 of its 32 bytes is accepted`);
  }
}

/** Accepts base64 and base64url. */
function bytesOf(text: string): Buffer {
  const bytes = Buffer.from(text.trim(), 'base64');
  if (bytes.length !== KEY_BYTES) throw new Error('not a key');
  return bytes;
}

function idOf(publicKey: KeyObject): string {
  return createHash('sha256')
    .update(Buffer.from(textOf(publicKey), 'base64url'))
    .digest('hex')
    .slice(0, 16);
}

function textOf(publicKey: KeyObject): string {
  return publicKey.export({ format: 'jwk' }).x!;
}

const KEY_BYTES = 32;
/** The bytes before the seed of an ed25519 key in PKCS #8 (RFC 8410). */
const PKCS8_OF_SEED = Buffer.from('302e020100300506032b657004220420', 'hex');
