import { hash } from 'node:crypto';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import { REFRESH_TOKEN_DAYS, type Token } from '@parley/protocol/resources/token.ts';
import { sql } from 'kysely';
import { nanoid } from 'nanoid';
import type { TokenSubject, Tokens } from '../../../api/access/tokens.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { enqueueRightsChanged } from '../rights/rights-changed.ts';
import { endSessionsById } from './sessions.ts';

/**
 * Issues an access token of 15 minutes, and the first refresh token of a new family
 * (docs/contract.md#tokens). Only the refresh token's hash is stored. `familyId` is the id of the
 * new session.
 */
export function issueTokenPair(
  db: Db,
  tokens: Issuer,
  subject: TokenSubject,
  familyId = newId('session'),
): Promise<Token> {
  return issue(db, tokens, subject, { familyId });
}

/**
 * Uses a refresh token and passes the family's next pair to `finish`, in one transaction. A second
 * use proves that the token was copied: its whole family is revoked, with all its access tokens and
 * their sockets. If the two uses are concurrent, one gets a pair that is then revoked. Rejects with
 * ApiError `invalid_credentials` (unknown, used, of a revoked family or a deactivated actor) or
 * `expired_token`. With `nextSecret`, the secret of the next refresh token, a repetition within a
 * minute gets the same pair as before, and ends nothing.
 */
export async function refreshTokenPair<T>(
  database: Database,
  tokens: Issuer,
  refreshToken: string,
  finish: (tx: Tx, pair: Token, session: RefreshedSession) => Promise<T>,
  nextSecret?: string,
): Promise<T> {
  const next = nextSecret === undefined ? undefined : PREFIX + nextSecret;
  const outcome = await database.transaction(async (tx) => {
    const use = await takeUse(tx, hashOf(refreshToken), next);
    // It is returned, not thrown, because the revocation of the family must be committed.
    if (use instanceof ApiError) return { refusal: use };
    return { result: await finish(tx, await issue(tx, tokens, use, use, next), use) };
  });
  if ('refusal' in outcome) throw outcome.refusal;
  return outcome.result;
}

/** Ends the session of a refresh token, used or not. No-op for an unknown token. */
export async function endSessionOfToken(tx: Tx, refreshToken: string): Promise<void> {
  const [row] = await tx.query(READ, hashOf(refreshToken));
  if (row !== undefined) await endSessionsById(tx, heldBy(row), [row.family_id], { isOwn: true });
}

export type RefreshedSession = TokenSubject & Pick<Family, 'familyId'>;

/** Deletes tokens that expired a week ago, in batches. Returns the number of rows. */
export async function purgeRefreshTokens(db: Db): Promise<number> {
  let purged = 0;
  for (;;) {
    const rows = await db.query(PURGE, PURGE_BATCH);
    purged += rows.length;
    if (rows.length < PURGE_BATCH) return purged;
  }
}

type Issuer = Pick<Tokens, 'issueAccess'>;

const PREFIX = 'refresh_';
/** 258 random bits, so a hash cannot be reversed by guessing. */
const SECRET_LENGTH = 43;
const PURGE_BATCH = 1_000;

async function issue(
  db: Db,
  tokens: Issuer,
  { accountId, actorId, widgetId }: TokenSubject,
  { familyId, beganAt }: Family,
  refreshToken = `${PREFIX}${nanoid(SECRET_LENGTH)}`,
): Promise<Token> {
  await db.kysely
    .insertInto('refresh_tokens')
    .values({
      hash: hashOf(refreshToken),
      family_id: familyId,
      account_id: accountId,
      actor_id: actorId,
      widget_id: widgetId ?? null,
      began_at: beganAt ?? sql<string>`clock_timestamp()`,
      expires_at: sql<string>`clock_timestamp() + ${sql.lit(`${REFRESH_TOKEN_DAYS} days`)}::interval`,
    })
    // A repeated use finds the token stored.
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .execute();
  const { token, expiresAt } = await tokens.issueAccess({ accountId, actorId, familyId, widgetId });
  return { object: 'token', access_token: token, refresh_token: refreshToken, expires_at: expiresAt };
}

interface Family {
  /** The id of the session (sessions.ts). */
  readonly familyId: string;
  /** Absent if the session begins now. */
  readonly beganAt?: string;
}

type Use = TokenSubject & Family;

interface TokenRow {
  readonly family_id: string;
  readonly account_id: string;
  readonly actor_id: string;
  readonly began_at: string;
  readonly widget_id: string | null;
  readonly used: boolean;
  readonly used_lately: boolean;
  readonly revoked: boolean;
  readonly expired: boolean;
}

/** Uses a token; `next` is the refresh token that follows it, if that is known already. */
async function takeUse(tx: Tx, tokenHash: Buffer, next?: string): Promise<Use | ApiError> {
  // Changes of one actor's tokens are serialised, so that a family is revoked with all its tokens,
  // including one that is being issued. Locked before the token is read, to read its current state.
  const [actor] = await tx.query(LOCK_ACTOR, tokenHash);
  const [row] = await tx.query(READ, tokenHash);
  if (actor === undefined || row === undefined || row.revoked) return invalid();
  const isRepeatable = next !== undefined && row.used_lately;
  if (isRepeatable && (await isUnused(tx, next))) return heldBy(row);
  if (isRepeatable) return invalid();
  if (row.used) {
    await tx.query(END_FAMILY, row.family_id);
    await enqueueRightsChanged(tx, [row.family_id]);
    return invalid();
  }
  if (row.expired)
    return new ApiError('expired_token', 'The refresh token has expired. Sign in again.', PARAM);
  if (actor.deactivated) return invalid();
  await tx.query(MARK_USED, tokenHash);
  return heldBy(row);
}

/** Returns whether the token is unused; deactivated actors have none. */
async function isUnused(tx: Tx, refreshToken: string): Promise<boolean> {
  const [row] = await tx.query(READ, hashOf(refreshToken));
  return row !== undefined && !row.used && !row.revoked;
}

function heldBy({ family_id, began_at, account_id, actor_id, widget_id }: TokenRow): Use {
  const subject = { accountId: account_id, actorId: actor_id, widgetId: widget_id ?? undefined };
  return { familyId: family_id, beganAt: began_at, ...subject };
}

const PARAM = { param: 'refresh_token' } as const;

function invalid(): ApiError {
  return new ApiError('invalid_credentials', 'The refresh token is not valid. Sign in again.', PARAM);
}

const LOCK_ACTOR = statement<[tokenHash: Buffer], { deactivated: boolean }>('lock-actor-of-refresh-token')`
    SELECT deactivated_at IS NOT NULL AS deactivated FROM actors
    WHERE id = (SELECT actor_id FROM refresh_tokens WHERE hash = $1) FOR NO KEY UPDATE`;

const READ = statement<[tokenHash: Buffer], TokenRow>('read-refresh-token')`
    SELECT family_id, account_id, actor_id, widget_id, coalesce(began_at, created_at) AS began_at, used_at IS NOT NULL AS used,
      coalesce(used_at > clock_timestamp() - interval '1 minute', false) AS used_lately, revoked_at IS NOT NULL AS revoked,
      expires_at <= clock_timestamp() AS expired
    FROM refresh_tokens WHERE hash = $1`;

const MARK_USED = statement<[tokenHash: Buffer]>('use-refresh-token')`
    UPDATE refresh_tokens SET used_at = clock_timestamp() WHERE hash = $1`;

const END_FAMILY = statement<[familyId: string]>('end-refresh-tokens')`
    UPDATE refresh_tokens SET revoked_at = clock_timestamp() WHERE family_id = $1 AND revoked_at IS NULL`;

// Tokens are kept a week beyond their expiry, so that a late caller gets `expired_token`.
const PURGE = statement<[limit: number]>('purge-refresh-tokens')`
    DELETE FROM refresh_tokens WHERE hash IN (
      SELECT hash FROM refresh_tokens WHERE expires_at < clock_timestamp() - interval '7 days' LIMIT $1
    ) RETURNING 1 AS purged`;

function hashOf(refreshToken: string): Buffer {
  return hash('sha256', refreshToken, 'buffer');
}
