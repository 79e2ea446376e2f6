import { ApiError, unavailable } from '@parley/protocol/errors/errors.ts';
import { presentActor } from '@parley/protocol/resources/actor.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { isUnavailable } from '../../platform/db/connection/unavailable.ts';
import { hashApiKey, hasValidChecksum, OPERATOR_KEY_PREFIX } from './api-keys.ts';
import { type Principal, UNAUTHENTICATED } from './principal.ts';

/**
 * Turns the key of an operator into a principal without an account. The pipeline asks only at the
 * paths of operators: to the Authenticator, and so to everything else, such a key is unknown. Keys
 * are read at each request, since few programs have one, so a revoked key ends at once.
 */
export class OperatorKeys {
  readonly #database: Pick<Database, 'checks'>;

  constructor(database: Pick<Database, 'checks'>) {
    this.#database = database;
  }

  /**
   * Returns undefined for a credential of another form. Rejects with ApiError:
   * `invalid_credentials`, `api_key_expired`, `api_key_revoked`, `service_unavailable`.
   */
  async authenticate(authorization: string | undefined): Promise<Principal | undefined> {
    const [, key] = FORM.exec(authorization ?? '') ?? [];
    if (key === undefined) return undefined;
    const row = hasValidChecksum(key, OPERATOR_KEY_PREFIX) ? await this.#read(hashApiKey(key)) : undefined;
    if (row === undefined) {
      throw new ApiError(
        'invalid_credentials',
        'The key of an operator is unknown. Check that it is complete.',
      );
    }
    const { id, name, redacted: handle, expires_at: expiresAt, revoked, expired } = row;
    if (revoked)
      throw new ApiError('api_key_revoked', 'The key of the operator was revoked. Use another key.');
    if (expired)
      throw new ApiError('api_key_expired', 'The key of the operator has expired. Use another key.');
    return {
      ...UNAUTHENTICATED,
      subscribed: true,
      operator: true,
      actor: presentActor({
        id,
        type: 'api_key',
        name,
        handle,
        username: null,
        avatar_url: null,
        external_id: null,
      }),
      credential: {
        kind: 'operator_key',
        id,
        expiresAtMs: expiresAt === null ? null : Date.parse(expiresAt),
      },
    };
  }

  async #read(hash: Buffer): Promise<KeyRow | undefined> {
    try {
      const [row] = await this.#database.checks.query(READ, hash);
      return row;
    } catch (cause) {
      if (!isUnavailable(cause)) throw cause;
      throw unavailable('Credentials cannot be checked at the moment.', cause);
    }
  }
}

const FORM = new RegExp(`^bearer (${OPERATOR_KEY_PREFIX}.*)$`, 'i');

interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly redacted: string;
  readonly expires_at: string | null;
  readonly revoked: boolean;
  readonly expired: boolean;
}

const READ = statement<[hash: Buffer], KeyRow>('principal-by-operator-key')`
    SELECT id, name, redacted, expires_at, revoked_at IS NOT NULL AS revoked,
      expires_at IS NOT NULL AND expires_at <= clock_timestamp() AS expired
    FROM operator_keys WHERE hash = $1`;
