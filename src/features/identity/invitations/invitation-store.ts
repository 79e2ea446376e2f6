import { hash } from 'node:crypto';
import { INVITATION_DAYS } from '@parley/protocol/resources/invitation.ts';
import { nanoid } from 'nanoid';
import type { TokenSubject } from '../../../api/access/tokens.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';

export interface NewInvitation {
  /** Only its hash is stored. */
  readonly secret: string;
  readonly expiresAt: string;
}

/** Inserts the invitation of a user and ends the previous invitation. */
export async function writeInvitation(tx: Tx, { accountId, actorId }: TokenSubject): Promise<NewInvitation> {
  const secret = `${PREFIX}${nanoid(SECRET_LENGTH)}`;
  const [row] = await tx.query(WRITE, actorId, accountId, hashOf(secret), INVITATION_DAYS);
  return { secret, expiresAt: row!.expires_at };
}

export interface InvitationRow {
  readonly actor_id: string;
  readonly account_id: string;
  readonly used: boolean;
  readonly expired: boolean;
}

/**
 * Returns undefined for an unknown secret, or an invitation ended by a later one or by a change.
 */
export async function readInvitation(db: Db, secret: string): Promise<InvitationRow | undefined> {
  const [row] = await db.query(READ, hashOf(secret));
  return row;
}

/** Marks the invitation as used, so that it cannot be used again. */
export async function markUsed(tx: Tx, secret: string): Promise<void> {
  await tx.query(MARK_USED, hashOf(secret));
}

/** Deletes unusable invitations after the time in which they still explain why. */
export async function purgeInvitations(db: Db): Promise<void> {
  await db.query(PURGE);
}

const PREFIX = 'invitation_';
/** 258 random bits, so a hash cannot be reversed by guessing. */
const SECRET_LENGTH = 43;

function hashOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

const WRITE = statement<
  [actorId: string, accountId: string, hash: Buffer, days: number],
  { expires_at: string }
>('write-invitation')`
    INSERT INTO invitations AS i (actor_id, account_id, hash, expires_at)
    VALUES ($1, $2, $3, clock_timestamp() + make_interval(days => $4))
    ON CONFLICT (actor_id) DO UPDATE SET hash = excluded.hash, expires_at = excluded.expires_at,
      used_at = NULL, created_at = clock_timestamp()
    RETURNING expires_at`;

const READ = statement<[hash: Buffer], InvitationRow>('read-invitation')`
    SELECT i.actor_id, i.account_id, i.used_at IS NOT NULL AS used, i.expires_at <= clock_timestamp() AS expired
    FROM invitations i JOIN accounts a ON a.id = i.account_id AND a.deleted_at IS NULL WHERE i.hash = $1`;

const MARK_USED = statement<[hash: Buffer]>('accept-invitation')`
    UPDATE invitations SET used_at = clock_timestamp() WHERE hash = $1`;

const PURGE = statement<[]>('purge-invitations')`
    DELETE FROM invitations WHERE expires_at < clock_timestamp() - interval '30 days'`;
