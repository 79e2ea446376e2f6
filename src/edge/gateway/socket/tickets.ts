import { hash } from 'node:crypto';
import { ApiError, unavailable } from '@parley/protocol/errors/errors.ts';
import { nanoid } from 'nanoid';
import type { Identity } from '../../../api/access/authenticate.ts';
import type { Credential, Principal } from '../../../api/access/principal.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { isUnavailable } from '../../../platform/db/connection/unavailable.ts';

/**
 * Tickets for sockets (docs/realtime.md#opening): usable once on any node, valid for 30 s by
 * Postgres's clock, bound to actor and account. The socket ends with the credential of its ticket.
 */
export class Tickets {
  readonly #database: Database;
  #purgedAtMs = Number.NEGATIVE_INFINITY;

  constructor(database: Database) {
    this.#database = database;
  }

  /** `expiresAt` is ISO 8601. Throws ApiError `service_unavailable` if Postgres is unavailable. */
  async issue({ accountId, actor, credential }: Principal): Promise<{ ticket: string; expiresAt: string }> {
    const ticket = `${PREFIX}${nanoid(SECRET_LENGTH)}`;
    const rows = await reached(
      this.#database.query(INSERT, hashOf(ticket), accountId, actor.id, {
        kind: credential.kind,
        id: credential.id,
        familyId: credential.familyId,
        issuedAtMs: credential.issuedAtMs,
        provider: credential.provider,
        widgetId: credential.widgetId,
        expiresAtMs: credential.expiresAtMs,
      }),
    );
    await this.#purge();
    return { ticket, expiresAt: rows[0]!.expires_at };
  }

  /** Throws ApiError `invalid_credentials` (unknown, used, expired) or `service_unavailable`. */
  async redeem(ticket: string): Promise<Identity> {
    const rows = FORM.test(ticket) ? await reached(this.#database.query(TAKE, hashOf(ticket))) : [];
    const row = rows[0];
    if (row === undefined || row.expired) {
      throw new ApiError('invalid_credentials', 'The ticket is unknown, used or expired.', {
        param: 'ticket',
      });
    }
    return { accountId: row.account_id, actorId: row.actor_id, credential: row.credential };
  }

  /** Deletes expired tickets at intervals; the table is small. */
  async #purge(): Promise<void> {
    if (performance.now() - this.#purgedAtMs < PURGE_EVERY_MS) return;
    this.#purgedAtMs = performance.now();
    await reached(this.#database.query(PURGE));
  }
}

interface Row {
  readonly account_id: string;
  readonly actor_id: string;
  readonly credential: Credential;
  readonly expired: boolean;
}

const PREFIX = 'ticket_';
const SECRET_LENGTH = 32;
const FORM = new RegExp(`^${PREFIX}[\\w-]{${SECRET_LENGTH}}$`);
const PURGE_EVERY_MS = 60_000;

const INSERT = statement<
  [hash: Buffer, accountId: string, actorId: string, credential: object],
  { expires_at: string }
>('insert-ticket')`
    INSERT INTO tickets (hash, account_id, actor_id, credential, expires_at)
    VALUES ($1, $2, $3, $4, clock_timestamp() + interval '30 seconds')
    RETURNING expires_at`;

const TAKE = statement<[hash: Buffer], Row>('take-ticket')`
    DELETE FROM tickets WHERE hash = $1
    RETURNING account_id, actor_id, credential, expires_at <= clock_timestamp() AS expired`;

const PURGE = statement('purge-tickets')`DELETE FROM tickets WHERE expires_at < clock_timestamp()`;

function hashOf(ticket: string): Buffer {
  return hash('sha256', ticket, 'buffer');
}

async function reached<T>(query: Promise<T>): Promise<T> {
  try {
    return await query;
  } catch (cause) {
    if (!isUnavailable(cause)) throw cause;
    throw unavailable('Tickets cannot be handled at the moment.', cause);
  }
}
