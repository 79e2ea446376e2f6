import { createHmac, hash } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
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

export interface Invited extends TokenSubject {
  /** Actor id of the inviter. */
  readonly by: string;
}

/** Inserts the invitation of a user and ends the previous invitation. */
export async function writeInvitation(tx: Tx, invited: Invited): Promise<NewInvitation> {
  const secret = `${PREFIX}${nanoid(SECRET_LENGTH)}`;
  return { secret, expiresAt: await write(tx, invited, secret, null) };
}

/** Does the same for an invitation that is mailed, and returns its id. */
export async function writeMailed(
  tx: Tx,
  invited: Invited,
  key: string,
): Promise<{ readonly id: string; readonly expiresAt: string }> {
  const id = newId('invitation');
  return { id, expiresAt: await write(tx, invited, secretOf(key, id), id) };
}

async function write(tx: Tx, { accountId, actorId, by }: Invited, secret: string, id: string | null) {
  const [row] = await tx.query(WRITE, actorId, accountId, hashOf(secret), INVITATION_DAYS, id, by);
  return row!.expires_at;
}

/** The name of the secret from which the secrets of mailed invitations are made. */
export const INVITATION_SECRET = 'invitation_secret';

/**
 * Returns the secret of a mailed invitation, which is not stored: the mail is written at each try.
 */
export function secretOf(key: string, id: string): string {
  return `${PREFIX}${createHmac('sha256', key).update(id).digest('base64url')}`;
}

/** What the mail and the page say of an invitation. */
export interface InvitationFactsRow {
  readonly account_name: string;
  readonly inviter: string | null;
  readonly name: string;
  readonly email: string;
  readonly expires_at: string;
}

/** Returns a mailed invitation that can still be used. */
export async function findMailed(db: Db, id: string): Promise<InvitationFactsRow | undefined> {
  const [row] = await db.query(FIND_MAILED, id);
  return row;
}

export interface InvitationRow extends InvitationFactsRow {
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
  [actorId: string, accountId: string, hash: Buffer, days: number, id: string | null, by: string],
  { expires_at: string }
>('write-invitation')`
    INSERT INTO invitations AS i (actor_id, account_id, hash, expires_at, id, invited_by)
    VALUES ($1, $2, $3, clock_timestamp() + make_interval(days => $4), $5, $6)
    ON CONFLICT (actor_id) DO UPDATE SET hash = excluded.hash, expires_at = excluded.expires_at,
      used_at = NULL, created_at = clock_timestamp(), id = excluded.id, invited_by = excluded.invited_by
    RETURNING expires_at`;

const FACTS = `a.name AS account_name, p.name, u.email, i.expires_at,
      (SELECT b.name FROM actors b WHERE b.id = i.invited_by AND b.erased_at IS NULL) AS inviter`;
const INVITED = `invitations i JOIN accounts a ON a.id = i.account_id AND a.deleted_at IS NULL
      JOIN actors p ON p.id = i.actor_id JOIN users u ON u.id = p.id`;

const READ = statement<[hash: Buffer], InvitationRow>('read-invitation')`
    SELECT i.actor_id, i.account_id, i.used_at IS NOT NULL AS used, i.expires_at <= clock_timestamp() AS expired,
      ${FACTS}
    FROM ${INVITED} WHERE i.hash = $1`;

const FIND_MAILED = statement<[id: string], InvitationFactsRow>('find-mailed-invitation')`
    SELECT ${FACTS} FROM ${INVITED}
    WHERE i.id = $1 AND i.used_at IS NULL AND i.expires_at > clock_timestamp()`;

const MARK_USED = statement<[hash: Buffer]>('accept-invitation')`
    UPDATE invitations SET used_at = clock_timestamp() WHERE hash = $1`;

const PURGE = statement<[]>('purge-invitations')`
    DELETE FROM invitations WHERE expires_at < clock_timestamp() - interval '30 days'`;
