import { createECDH, hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { bounded } from '../../../platform/bounded.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { sharedSecret } from '../../../platform/db/shared-secret.ts';

export interface VapidOptions {
  readonly database: Database;
  /** `PARLEY_VAPID_SUBJECT`: the contact for push services with questions about this server. */
  readonly subject: string;
  /** Milliseconds since 1970. Default: the clock of this machine. */
  readonly now?: () => number;
}

const TOKEN_HOURS = 12;
/** Tokens are used for half of their life, so a clock wrong by minutes never finds them expired. */
const USED_MS = (TOKEN_HOURS / 2) * 60 * 60 * 1_000;
const MAX_TOKENS = 1_000;

/**
 * The key that identifies this deployment to push services (RFC 8292). It is made once and kept in
 * the database. Browsers subscribe with its public half, so a new key ends every subscription.
 */
export class Vapid {
  /** Changes with the key. */
  readonly keyId: string;
  /** base64url of 65 bytes. */
  readonly publicKey: string;
  readonly #privateKey: string;
  readonly #subject: string;
  /** By origin of the push service. Cached because signing is the slowest step of a push. */
  readonly #headers: LRUCache<string, string>;
  readonly #now: () => number;

  /** Rejects while Postgres is unavailable. */
  static async open(options: VapidOptions): Promise<Vapid> {
    return new Vapid(await sharedSecret(options.database, 'vapid_key', newPrivateKey), options);
  }

  private constructor(privateKey: string, { subject, now = Date.now }: VapidOptions) {
    const curve = createECDH('prime256v1');
    curve.setPrivateKey(privateKey, 'base64url');
    this.publicKey = curve.getPublicKey('base64url');
    this.keyId = hash('sha256', this.publicKey, 'hex').slice(0, 16);
    this.#privateKey = privateKey;
    this.#subject = subject;
    this.#now = now;
    this.#headers = new LRUCache({ ...bounded(MAX_TOKENS), ttl: USED_MS, perf: { now } });
  }

  /** Returns the Authorization header for a push service. */
  async authorization(origin: string): Promise<string> {
    const known = this.#headers.get(origin);
    if (known !== undefined) return known;
    const { getVapidHeaders } = (await import('web-push')).default;
    const { Authorization } = getVapidHeaders(
      origin,
      this.#subject,
      this.publicKey,
      this.#privateKey,
      'aes128gcm',
      Math.floor(this.#now() / 1_000) + TOKEN_HOURS * 60 * 60,
    );
    this.#headers.set(origin, Authorization);
    return Authorization;
  }
}

/**
 * Returns whether the contact is a public one. Apple answers 403 `BadJwtToken` to a subject of
 * `localhost`; other services accept any.
 */
export function isRealContact(subject: string): boolean {
  const host = subject.startsWith('mailto:')
    ? subject.slice(subject.lastIndexOf('@') + 1).toLowerCase()
    : new URL(subject).hostname;
  const lastLabel = host.slice(host.lastIndexOf('.') + 1);
  return host.includes('.') && !/^\d*$/.test(lastLabel) && !RESERVED.has(lastLabel);
}

/** Top-level names that do not exist in the internet (RFC 2606, RFC 6762 and others). */
const RESERVED: ReadonlySet<string> = new Set([
  'example',
  'internal',
  'invalid',
  'lan',
  'local',
  'localhost',
  'test',
]);

function newPrivateKey(): string {
  const curve = createECDH('prime256v1');
  curve.generateKeys();
  // Node omits leading zeros.
  const bytes = curve.getPrivateKey();
  return Buffer.concat([Buffer.alloc(32 - bytes.length), bytes]).toString('base64url');
}
