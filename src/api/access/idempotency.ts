import { createHash } from 'node:crypto';
import { ApiError, unavailable } from '@parley/protocol/errors/errors.ts';
import { canonicalJson } from '@parley/protocol/json/canonical-json.ts';
import type { Selectable } from 'kysely';
import { nanoid } from 'nanoid';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { isUnavailable } from '../../platform/db/connection/unavailable.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';
import { type SealedWith, seal, unseal } from '../../platform/sealed-bytes.ts';

/** The same key in another scope is another key. `path` includes its ids, not the query. */
export interface IdempotencyScope {
  readonly accountId: string;
  readonly actorId: string;
  readonly method: string;
  readonly path: string;
}

/** The stored answer, to send in the form of the version that asks, or permission to act. */
export type Begun =
  | { readonly replay: StoredResponse; readonly claim?: undefined }
  | { readonly claim: IdempotencyClaim; readonly replay?: undefined };

interface StoredResponse {
  readonly status: number;
  readonly body: Buffer;
}

export interface CompleteOptions {
  /** The transaction of the effect: the response is then stored if and only if the effect is. */
  readonly tx?: Tx;
  /** The body shows a secret (an API key, a token), so it is encrypted with the Idempotency-Key. */
  readonly secret?: boolean;
  /** The body is not stored: a repetition is answered `resource_gone`. */
  readonly once?: boolean;
}

/**
 * Carries out a request once, however often it is sent (docs/contract.md#idempotency). A claim
 * lasts 30 s; the answer is kept for 24 h.
 */
export class Idempotency {
  readonly #database: Database;

  constructor({ database }: { readonly database: Database }) {
    this.#database = database;
  }

  /**
   * Begins a request. `key` is the Idempotency-Key as sent, `fingerprint` the result of
   * fingerprintOf(). Rejects with ApiError: `parameter_invalid` (an empty or too long key, or not
   * printable ASCII), `idempotency_key_reused` (another request has it), `idempotency_in_progress`,
   * `service_unavailable` (Postgres is away).
   */
  async begin(scope: IdempotencyScope, key: string, fingerprint: Buffer): Promise<Begun> {
    if (key.length > MAX_KEY_LENGTH || !PRINTABLE.test(key)) {
      const message = `An Idempotency-Key has 1 to ${MAX_KEY_LENGTH} printable ASCII characters.`;
      throw new ApiError('parameter_invalid', message, { param: 'Idempotency-Key' });
    }
    const hash = hashOf(scope, key);
    try {
      return await this.#begin({ hash, key, fingerprint, owner: nanoid() }, scope.accountId);
    } catch (cause) {
      if (!isUnavailable(cause)) throw cause;
      throw unavailable('Idempotency keys cannot be checked at the moment.', cause);
    }
  }

  /** Deletes keys that are older than 24 h; resolves with the number of rows. */
  async purge(): Promise<number> {
    let purged = 0;
    for (;;) {
      const rows = await this.#database.query(PURGE, PURGE_BATCH);
      purged += rows.length;
      if (rows.length < PURGE_BATCH) return purged;
    }
  }

  async #begin(holder: Holder, accountId: string): Promise<Begun> {
    const { hash, key, fingerprint, owner } = holder;
    for (let attempt = 0; attempt < CLAIM_ATTEMPTS; attempt++) {
      const claimed = await this.#database.query(CLAIM, hash, fingerprint, owner, accountId);
      if (claimed.length > 0) return { claim: new IdempotencyClaim(this.#database, holder) };

      const [row] = await this.#database.query(READ, hash);
      // Released in between, so another try may get it.
      if (row === undefined) continue;
      if (!row.fingerprint.equals(fingerprint)) {
        throw new ApiError(
          'idempotency_key_reused',
          'This Idempotency-Key was used for a different request. Use a new key for each request.',
          {
            param: 'Idempotency-Key',
          },
        );
      }
      if (row.status !== null && row.response === null) {
        throw new ApiError(
          'resource_gone',
          'This request was carried out. Its answer is not kept, or has been removed since.',
        );
      }
      if (row.status !== null && row.response !== null) {
        const body = row.encrypted ? unseal(row.response, sealedWith(key, hash)) : row.response;
        return { replay: { status: row.status, body } };
      }
      // Its lease may end at this moment; the caller's next try shows that.
      break;
    }
    throw inProgress();
  }
}

/**
 * Removes the stored answers that show these resources, in the transaction that removes them. A
 * repeated request then gets `resource_gone` and does not act again.
 */
export async function forgetAnswers(tx: Tx, resourceIds: readonly string[]): Promise<void> {
  if (resourceIds.length > 0) await tx.query(FORGET, resourceIds);
}

/** Permission to carry out one request, until the lease ends and another request takes it over. */
export class IdempotencyClaim {
  readonly #database: Database;
  readonly #holder: Holder;

  constructor(database: Database, holder: Holder) {
    this.#database = database;
    this.#holder = holder;
  }

  /**
   * Stores the answer, or releases the key if the answer is not to be repeated (validation, 401,
   * 403, 429, 5xx). If another owner has the claim, with `tx` it rejects with ApiError
   * `idempotency_in_progress`, so that the effect is rolled back. Without `tx` the effect is
   * committed already, and the claim is left to its new owner. Otherwise rejects with the
   * database's error.
   */
  async complete(status: number, body: Buffer, options: CompleteOptions = {}): Promise<void> {
    if (!isKept(status)) return this.release();
    const { hash, key, owner } = this.#holder;
    const { tx, secret = false, once = false } = options;
    const { numUpdatedRows } = await (tx ?? this.#database).kysely
      .updateTable('idempotency_keys')
      .set({
        status,
        response: once ? null : secret ? seal(body, sealedWith(key, hash)) : body,
        encrypted: secret && !once,
        about: once ? null : shownBy(body),
      })
      .where('hash', '=', hash)
      .where('claim', '=', owner)
      .where('status', 'is', null)
      .executeTakeFirst();
    if (numUpdatedRows === 0n && tx !== undefined) throw inProgress();
  }

  /** Releases the key, so that the next request acts. Does nothing if the claim was lost. */
  async release(): Promise<void> {
    const { hash, owner } = this.#holder;
    await this.#database.query(RELEASE, hash, owner);
  }
}

/**
 * Returns the SHA-256 of query and body, which decides whether two requests are the same. `query`
 * is as sent, without `?`; `body` as parsed, so field order and white space do not count, or
 * undefined. Throws ApiError `invalid_format` for a body that is nested too deeply.
 */
export function fingerprintOf(query: string, body: unknown): Buffer {
  const canonical = body === undefined ? '' : canonicalJson(body);
  return createHash('sha256').update(JSON.stringify(query)).update(canonical).digest();
}

/** Returns the id of the resource that an answer shows, which is the first field of each. */
function shownBy(body: Buffer): string | null {
  return /^\{"id":"(\w{1,64})"/.exec(body.toString('latin1', 0, 80))?.[1] ?? null;
}

interface Holder {
  readonly hash: Buffer;
  readonly key: string;
  readonly fingerprint: Buffer;
  /** Random: distinguishes this owner of the key from earlier and later ones. */
  readonly owner: string;
}

type KeyRow = Pick<
  Selectable<Schema['idempotency_keys']>,
  'fingerprint' | 'status' | 'response' | 'encrypted'
>;

const MAX_KEY_LENGTH = 255;
/** Other bytes are decoded differently or cut off along the way, so two keys could become one. */
const PRINTABLE = /^[\x20-\x7e]+$/;
const CLAIM_ATTEMPTS = 3;
const PURGE_BATCH = 10_000;

/**
 * Takes a key that is new, older than 24 h, or whose owner let the lease end. Such an owner had no
 * effect, since the response is stored with it. The row's lock admits one of many concurrent
 * requests, and the others see what it wrote. An expired claim stays bound to its request.
 */
const CLAIM = statement<[hash: Buffer, fingerprint: Buffer, owner: string, accountId: string]>(
  'idempotency-claim',
)`
    INSERT INTO idempotency_keys AS held (hash, fingerprint, claim, claimed_until, account_id)
    VALUES ($1, $2, $3, clock_timestamp() + interval '30 seconds', $4)
    ON CONFLICT (hash) DO UPDATE SET
      fingerprint = excluded.fingerprint, claim = excluded.claim, claimed_until = excluded.claimed_until,
      account_id = excluded.account_id,
      status = NULL, response = NULL, encrypted = false, about = NULL, created_at = clock_timestamp()
    WHERE held.created_at <= clock_timestamp() - interval '24 hours'
      OR (held.status IS NULL AND held.claimed_until <= clock_timestamp() AND held.fingerprint = excluded.fingerprint)
    RETURNING 1`;

const READ = statement<[hash: Buffer], KeyRow>('idempotency-read')`
    SELECT fingerprint, status, response, encrypted FROM idempotency_keys WHERE hash = $1`;

const RELEASE = statement<[hash: Buffer, owner: string]>('idempotency-release')`
    DELETE FROM idempotency_keys WHERE hash = $1 AND claim = $2 AND status IS NULL`;

const FORGET = statement<[resourceIds: readonly string[]]>('idempotency-forget')`
    UPDATE idempotency_keys SET response = NULL, encrypted = false, about = NULL WHERE about = ANY($1)`;

const PURGE = statement<[limit: number]>('idempotency-purge')`
    DELETE FROM idempotency_keys WHERE hash IN (
      SELECT hash FROM idempotency_keys WHERE created_at <= clock_timestamp() - interval '24 hours'
      LIMIT $1 FOR UPDATE SKIP LOCKED
    ) RETURNING 1`;

function inProgress(): ApiError {
  return new ApiError(
    'idempotency_in_progress',
    'A request with this Idempotency-Key is being processed. Try again in a moment.',
    {
      param: 'Idempotency-Key',
      retryAfterS: 1,
    },
  );
}

/** Returns whether a repetition would get the same answer: success, or a refusal by the state. */
function isKept(status: number): boolean {
  return status < 400 || status === 404 || status === 409 || status === 410;
}

function hashOf({ accountId, actorId, method, path }: IdempotencyScope, key: string): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([accountId, actorId, method, path, key]))
    .digest();
}

/**
 * Returns the key of a stored answer. Readers of the table, which has only a hash, must guess it.
 */
function sealedWith(key: string, hash: Buffer): SealedWith {
  return { secret: key, salt: hash, purpose: 'parley idempotent response' };
}
