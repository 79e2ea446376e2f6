import { notFound } from '@parley/protocol/errors/errors.ts';
import { Session } from '@parley/protocol/resources/session.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { TokenSubject } from '../../../api/access/tokens.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { keysetList } from '../../../platform/db/connection/keyset.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { type Audited, audit } from '../../audit/audit.ts';
import { presentAs } from '../../resources/present-as.ts';
import { enqueueRightsChanged } from '../rights/rights-changed.ts';

/** A family of refresh tokens that can still get access tokens; the session has the family's id. */
export interface SessionRow {
  readonly id: string;
  readonly actor_id: string;
  readonly last_used_at: string;
  readonly expires_at: string;
  readonly created_at: string;
}

/** Returns an open session of an actor. Throws ApiError `resource_not_found` (param session_id). */
export async function findSession(db: Db, actorId: string, sessionId: string): Promise<SessionRow> {
  return sessionOf(await db.query(READ_OPEN, actorId), sessionId);
}

/** Returns the session, marked if it is the caller's own (`principal`). */
export function presentSession(row: SessionRow, { credential }: Principal): Session {
  return presentAs(Session, { ...row, user_id: row.actor_id, is_current: credential.familyId === row.id });
}

/**
 * Ends one session of an actor: its refresh token, its access tokens and their sockets, on every
 * node within a second. Returns its last state. Throws ApiError `resource_not_found` (param
 * session_id).
 */
export async function endSession(
  tx: Tx,
  principal: Principal,
  actorId: string,
  sessionId: string,
): Promise<SessionRow> {
  const session = sessionOf(await lockSessions(tx, actorId), sessionId);
  await end(tx, byOf(principal), actorId, [session]);
  return session;
}

function sessionOf(sessions: readonly SessionRow[], sessionId: string): SessionRow {
  const session = sessions.find(({ id }) => id === sessionId);
  if (session === undefined) throw notFound('session', 'session_id');
  return session;
}

/** Ends all sessions of an actor, except the one with the id `keep`. Returns their number. */
export async function endSessions(
  tx: Tx,
  principal: Principal,
  actorId: string,
  { keep }: { readonly keep?: string | undefined } = {},
): Promise<number> {
  const sessions = (await lockSessions(tx, actorId)).filter(({ id }) => id !== keep);
  if (sessions.length > 0) await end(tx, byOf(principal), actorId, sessions);
  return sessions.length;
}

/**
 * Ends the open sessions of an actor with these ids. `isOwn`: the actor itself ends them, not the
 * operator or an identity provider. Returns their number.
 */
export async function endSessionsById(
  tx: Tx,
  { accountId, actorId }: TokenSubject,
  ids: readonly string[],
  { isOwn = false }: { readonly isOwn?: boolean } = {},
): Promise<number> {
  const sessions = (await lockSessions(tx, actorId)).filter(({ id }) => ids.includes(id));
  if (sessions.length > 0) await end(tx, { accountId, actorId: isOwn ? actorId : null }, actorId, sessions);
  return sessions.length;
}

/**
 * Ends every credential of a person so far: sessions, access tokens, tickets, and tokens that
 * identity providers issued in this second or before. Returns the number of sessions.
 */
export async function endCredentials(tx: Tx, principal: Principal, actorId: string): Promise<number> {
  const { length: count } = await lockSessions(tx, actorId);
  await endEveryToken(tx, actorId);
  await tx.query(END_TOKENS, actorId);
  await enqueueRightsChanged(tx, [actorId]);
  const details = { user_id: actorId, count, tokens: true };
  await audit(tx, { ...byOf(principal), action: 'sessions.ended', details });
  return count;
}

/**
 * Ends every token of an actor for good: also tickets, and access tokens whose refresh token has
 * expired. The caller announces the change of the actor.
 */
export async function endEveryToken(tx: Tx, actorId: string): Promise<void> {
  await lockSessions(tx, actorId);
  await tx.query(END_EVERY, actorId);
  await tx.kysely.deleteFrom('tickets').where('actor_id', '=', actorId).execute();
}

/** Locks the actor against refreshes (token-pairs.ts), and returns its open sessions. */
async function lockSessions(tx: Tx, actorId: string): Promise<SessionRow[]> {
  await tx.kysely.selectFrom('actors').select('id').where('id', '=', actorId).forNoKeyUpdate().execute();
  return tx.query(READ_OPEN, actorId);
}

type By = Pick<Audited, 'accountId' | 'actorId'>;

function byOf({ accountId, actor }: Principal): By {
  return { accountId, actorId: actor.id };
}

async function end(tx: Tx, by: By, actorId: string, sessions: readonly SessionRow[]): Promise<void> {
  const ids = sessions.map(({ id }) => id);
  await tx.query(END, ids);
  await enqueueRightsChanged(tx, ids);
  await audit(tx, { ...by, action: 'sessions.ended', details: { user_id: actorId, count: ids.length } });
}

/** An open family has exactly one usable token, whose row stands for the family. */
const OPEN = {
  columns: `t.family_id AS id, t.actor_id, t.created_at AS last_used_at, t.expires_at,
      coalesce(t.began_at, (SELECT min(f.created_at) FROM refresh_tokens f WHERE f.family_id = t.family_id)) AS created_at`,
  from: 'refresh_tokens t',
  where:
    't.actor_id = $1 AND t.used_at IS NULL AND t.revoked_at IS NULL AND t.expires_at > clock_timestamp()',
} as const;

/** The open sessions of an actor, most recently used first. */
export const SESSIONS = keysetList<[actorId: string], SessionRow>({
  ...OPEN,
  name: 'list-sessions',
  key: [
    ['t.created_at', 'timestamptz'],
    ['t.family_id', 'text'],
  ],
});

const READ_OPEN = statement<[actorId: string], SessionRow>('read-open-sessions')`
    SELECT ${OPEN.columns} FROM ${OPEN.from} WHERE ${OPEN.where}`;

const END = statement<[ids: readonly string[]]>('end-sessions')`
    UPDATE refresh_tokens SET revoked_at = clock_timestamp()
    WHERE family_id = ANY($1) AND revoked_at IS NULL`;

const END_EVERY = statement<[actorId: string]>('end-every-token')`
    UPDATE refresh_tokens SET revoked_at = clock_timestamp() WHERE actor_id = $1 AND revoked_at IS NULL`;

const END_TOKENS = statement<[actorId: string]>('end-tokens')`
    UPDATE actors SET tokens_ended_at = clock_timestamp() WHERE id = $1`;
