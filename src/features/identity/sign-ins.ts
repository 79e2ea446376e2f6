import { hash } from 'node:crypto';
import type { Selectable } from 'kysely';
import { enqueueRightsChanged } from '../../core/accounts/rights/rights-changed.ts';
import { endSessionsById } from '../../core/accounts/sessions/sessions.ts';
import type { Db, Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';

export type SignInRow = Omit<Selectable<Schema['sign_ins']>, 'created_at'>;

/** Stores the claims by which a logout token may name a session that has begun. */
export async function insertSignIn(tx: Tx, row: SignInRow): Promise<void> {
  await tx.kysely.insertInto('sign_ins').values(row).execute();
}

/** Returns whether the session began by an invitation, or at a provider that still exists. */
export async function isSignIn(db: Db, sessionId: string): Promise<boolean> {
  return (await db.query(IS_SIGN_IN, sessionId)).length > 0;
}

/**
 * A subject, a session of the provider, or both. Both mean that session of the subject, and its
 * sessions for which the provider has named no session.
 */
export interface LogoutTarget {
  readonly sub?: string | undefined;
  readonly sid?: string | undefined;
}

/**
 * Ends the sessions that a logout token names. The token is not kept, so the same person can sign
 * in again at once. Returns the number of ended sessions.
 */
export async function endSignIns(tx: Tx, providerId: string, { sub, sid }: LogoutTarget): Promise<number> {
  let ended = 0;
  for (const { account_id, actor_id, ids } of await tx.query(FIND, providerId, sub ?? null, sid ?? null)) {
    ended += await endSessionsById(tx, { accountId: account_id, actorId: actor_id }, ids);
  }
  return ended;
}

/** Ends every session that began at a provider, in the transaction that removes the provider. */
export async function endSignInsOfProvider(tx: Tx, providerId: string): Promise<void> {
  const ended = await tx.query(END_OF_PROVIDER, providerId);
  if (ended.length > 0)
    await enqueueRightsChanged(
      tx,
      ended.map(({ family_id }) => family_id),
    );
}

/** Returns false if the provider has used the id of a logout token before. */
export async function noteLogoutToken(tx: Tx, providerId: string, jti: string): Promise<boolean> {
  return (await tx.query(NOTE_LOGOUT_TOKEN, providerId, hash('sha256', jti, 'buffer'))).length > 0;
}

/** Deletes rows of sessions that are gone, and ids of logout tokens that have expired. */
export async function purgeSignIns(db: Db): Promise<void> {
  await db.query(PURGE);
  await db.query(PURGE_LOGOUT_TOKENS);
}

const IS_SIGN_IN = statement<[sessionId: string], { found: 1 }>('is-sign-in')`
    SELECT 1 AS found FROM sign_ins s LEFT JOIN identity_providers p ON p.id = s.provider_id
    WHERE s.session_id = $1 AND (s.provider_id IS NULL OR p.id IS NOT NULL)`;

const FIND = statement<
  [providerId: string, sub: string | null, sid: string | null],
  { account_id: string; actor_id: string; ids: string[] }
>('find-sign-ins')`
    SELECT account_id, actor_id, array_agg(session_id) AS ids FROM sign_ins
    WHERE provider_id = $1 AND ($2::text IS NULL OR subject = $2)
      AND ($3::text IS NULL OR sid = $3 OR (sid IS NULL AND $2 IS NOT NULL))
      AND num_nonnulls($2, $3) > 0
    GROUP BY account_id, actor_id ORDER BY actor_id`;

const END_OF_PROVIDER = statement<[providerId: string], { family_id: string }>('end-sign-ins-of-provider')`
    UPDATE refresh_tokens SET revoked_at = clock_timestamp()
    WHERE family_id IN (SELECT session_id FROM sign_ins WHERE provider_id = $1) AND revoked_at IS NULL
    RETURNING family_id`;

// The interval is longer than a logout token is valid.
const NOTE_LOGOUT_TOKEN = statement<[providerId: string, hash: Buffer], { used: 1 }>('note-logout-token')`
    INSERT INTO logout_tokens (provider_id, hash, expires_at)
    VALUES ($1, $2, clock_timestamp() + interval '10 minutes') ON CONFLICT DO NOTHING RETURNING 1 AS used`;

const PURGE = statement<[]>('purge-sign-ins')`
    DELETE FROM sign_ins s WHERE s.created_at < clock_timestamp() - interval '1 day'
      AND NOT EXISTS (SELECT FROM refresh_tokens t WHERE t.family_id = s.session_id)`;

const PURGE_LOGOUT_TOKENS = statement<[]>('purge-logout-tokens')`
    DELETE FROM logout_tokens WHERE expires_at < clock_timestamp()`;
