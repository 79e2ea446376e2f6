import { LRUCache } from 'lru-cache';
import { bounded } from '../../../platform/bounded.ts';
import type { Querier } from '../../../platform/db/connection/handle.ts';
import type { GuardedPost } from '../../../platform/outbound/guarded-post.ts';
import { OutboundError } from '../../../platform/outbound/outbound-url.ts';
import type { Tried } from '../deliveries/channel.ts';
import { APNS_TOKEN_MS, APNS_URLS, apnsRequest, apnsToken, apnsVerdict } from './apns.ts';
import type { CredentialSeal, FcmCredential, PushCredential } from './credential.ts';
import { FCM_URL, fcmRequest, fcmTokenRequest, fcmVerdict, GOOGLE_TOKEN_URL } from './fcm.ts';
import type { PhonePush, PhoneRequest } from './phone-push.ts';
import { noteCredential, type PushAppRow, readCredential } from './push-apps.ts';

export interface PhoneServicesOptions {
  readonly database: Querier;
  readonly post: Pick<GuardedPost, 'post'>;
  readonly seal: CredentialSeal;
  /** `PARLEY_FCM_URL` and `PARLEY_APNS_URL`; null for the hosts of Google and Apple. */
  readonly fcmUrl: string | null;
  readonly apnsUrl: string | null;
}

/** An opened credential, with the token that proves it and the end of that token. */
interface Proof {
  readonly credential: PushCredential;
  readonly token: string;
  /** Milliseconds for which the token is used. */
  readonly ms: number;
}

/** Milliseconds until a request is given up. */
const TRY_MS = 10_000;
/** Bytes kept of an answer: an access token of Google has up to 2 KB. */
const ANSWER_BYTES = 8_192;
const MAX_PROOFS = 1_000;
/** Milliseconds before its end at which an access token is renewed. */
const RENEWED_BEFORE_MS = 5 * 60_000;

/** Milliseconds until the success of a credential is written again. */
const NOTED_EVERY_MS = 60 * 60_000;

/**
 * Pushes to phones over FCM (HTTP v1) and APNs (HTTP/2), with the credentials of the accounts. The
 * credential of an app is opened by the first push and kept for its revision.
 */
export class PhoneServices {
  readonly #options: PhoneServicesOptions;
  /** By app and revision. */
  readonly #proofs = new LRUCache<string, Promise<Proof>>(bounded(MAX_PROOFS));
  /** What was written of apps and revisions: why they were refused, or "" for a success. */
  readonly #noted = new LRUCache<string, string>({ ...bounded(MAX_PROOFS), ttl: NOTED_EVERY_MS });

  constructor(options: PhoneServicesOptions) {
    this.#options = options;
  }

  /** Returns the origin of the service of an app, which names its lane. */
  originOf({ platform, environment }: Pick<PushAppRow, 'platform' | 'environment'>): string {
    const { fcmUrl, apnsUrl } = this.#options;
    if (platform === 'fcm') return new URL(fcmUrl ?? FCM_URL).origin;
    return new URL(apnsUrl ?? APNS_URLS[environment ?? 'production']).origin;
  }

  /** Sends one push. Rejects if it fails on our side. */
  async push(row: PhonePush): Promise<Tried> {
    try {
      const isKept = this.#proofs.has(keyOf(row));
      const first = await this.#try(row);
      // The token may have ended early, with the key that it was made for.
      const tried = first.verdict === 'unauthorized' && isKept ? await this.#try(row) : first;
      await this.#note(row, tried.verdict === 'unauthorized' ? tried.reason : null);
      return tried;
    } catch (error) {
      if (error instanceof Unauthorized) {
        await this.#note(row, error.message);
        return { verdict: 'unauthorized', reason: error.message, retryAfterMs: error.retryAfterMs };
      }
      if (!(error instanceof OutboundError)) throw error;
      return { verdict: 'failed', reason: error.condition, retryAfterMs: undefined };
    }
  }

  async #try(row: PhonePush): Promise<Tried> {
    const proof = this.#proofOf(row);
    const { credential, token } = await proof;
    const isFcm = credential.platform === 'fcm';
    const answer = await this.#ask(
      row,
      isFcm ? fcmRequest(row, credential, token) : apnsRequest(row, credential, token),
    );
    const verdict = isFcm ? fcmVerdict(answer) : apnsVerdict(answer);
    if (verdict === 'unauthorized' && this.#proofs.peek(keyOf(row)) === proof)
      this.#proofs.delete(keyOf(row));
    return {
      verdict,
      reason: `${answer.status} ${answer.text.slice(0, 500)}`.trim(),
      retryAfterMs: answer.retryAfterMs,
    };
  }

  /** Returns a proof that still holds, which pushes of one app share. */
  #proofOf(row: PhonePush): Promise<Proof> {
    const key = keyOf(row);
    const known = this.#proofs.get(key);
    if (known !== undefined) return known;
    const proof = this.#prove(row);
    this.#proofs.set(key, proof);
    const forget = () => {
      if (this.#proofs.peek(key) === proof) this.#proofs.delete(key);
    };
    proof.then(({ ms }) => setTimeout(forget, ms).unref(), forget);
    return proof;
  }

  async #prove(row: PhonePush): Promise<Proof> {
    const { database, seal } = this.#options;
    const sealed = await readCredential(database, row.app_id);
    const credential = sealed && seal.unseal(sealed.id, sealed.credential);
    if (credential === undefined) {
      throw new Unauthorized('The credential cannot be read with PARLEY_ENCRYPTION_KEY: set it again.');
    }
    if (credential.platform === 'fcm') return this.#accessTokenOf(row, credential);
    const token = await apnsToken(credential);
    return { credential, token, ms: APNS_TOKEN_MS };
  }

  async #accessTokenOf(row: PhonePush, credential: FcmCredential): Promise<Proof> {
    const { fcmUrl } = this.#options;
    const url = fcmUrl === null ? new URL(GOOGLE_TOKEN_URL) : new URL('/token', fcmUrl);
    const { status, text, retryAfterMs } = await this.#ask(row, await fcmTokenRequest(credential, url));
    const { access_token: token, expires_in: seconds } = readJson(text);
    if (status === 200 && typeof token === 'string' && typeof seconds === 'number') {
      return { credential, token, ms: Math.max(0, seconds * 1_000 - RENEWED_BEFORE_MS) };
    }
    if (status >= 500 || status === 429) {
      throw new OutboundError('external_service_error', `The service for tokens answered ${status}.`);
    }
    throw new Unauthorized(`${status} ${text.slice(0, 500)}`.trim(), retryAfterMs);
  }

  async #ask({ app_id: appId }: PhonePush, request: PhoneRequest) {
    const { post } = this.#options;
    const {
      status,
      beginning = '',
      retryAfterMs,
    } = await post.post({
      ...request,
      scope: `push ${appId}`,
      timeoutMs: TRY_MS,
      keeps: { bytes: ANSWER_BYTES, from: 200 },
    });
    return { status, text: beginning, retryAfterMs };
  }

  /** Writes that the service took the credential, or why not, once in a while. */
  async #note(row: PhonePush, error: string | null): Promise<void> {
    const key = keyOf(row);
    if (this.#noted.get(key) === (error ?? '')) return;
    this.#noted.set(key, error ?? '');
    await noteCredential(this.#options.database, { id: row.app_id, revision: row.revision }, error);
  }
}

/** The service does not take the credential. */
class Unauthorized extends Error {
  readonly retryAfterMs: number | undefined;

  constructor(message: string, retryAfterMs?: number) {
    super(message);
    this.name = 'Unauthorized';
    this.retryAfterMs = retryAfterMs;
  }
}

function keyOf({ app_id, revision }: PhonePush): string {
  return `${app_id} ${revision}`;
}

function readJson(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
