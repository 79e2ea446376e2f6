import { ApiError } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import type { InvitationFacts, UseInvitationBody } from '@parley/protocol/resources/invitation.ts';
import { lockUser } from '../../../core/accounts/actors/users.ts';
import { issueTokenPair } from '../../../core/accounts/sessions/token-pairs.ts';
import { audit } from '../../../core/audit/audit.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { insertSignIn } from '../sign-ins.ts';
import { type InvitationRow, markUsed, readInvitation } from './invitation-store.ts';

/**
 * Begins a session of the user whom an invitation names, once. Returns its refresh token. Rejects
 * with ApiError `invalid_credentials` (unknown, ended, of another account, or used) or
 * `expired_token`; the messages name the reason.
 */
export async function acceptInvitation(
  { database, tokens }: Pick<NodeParts, 'database' | 'tokens'>,
  { account_id: account, invitation }: UseInvitationBody,
): Promise<string> {
  return database.transaction(async (tx) => {
    const found = await readInvitation(tx, invitation);
    if (found === undefined || (account !== undefined && account !== found.account_id)) throw ended();
    const subject = { accountId: found.account_id, actorId: found.actor_id };
    // Two uses of one invitation, or a use and a change of the user, wait for each other here.
    const user = await lockUser(tx, subject.accountId, subject.actorId);
    if (user === undefined || user.deactivated || user.role_id === null) throw ended();
    const now = await readInvitation(tx, invitation);
    if (now === undefined) throw ended();
    requireOpen(now);
    await markUsed(tx, invitation);
    const session = newId('session');
    const pair = await issueTokenPair(tx, tokens, subject, session);
    await insertSignIn(tx, {
      session_id: session,
      account_id: subject.accountId,
      actor_id: subject.actorId,
      provider_id: null,
      issuer: null,
      subject: null,
      sid: null,
    });
    await audit(tx, { ...subject, action: 'user.invitation_used', details: { user_id: user.id } });
    return pair.refresh_token;
  });
}

/**
 * Returns what a page says of an invitation before it is used. Rejects as `acceptInvitation` does.
 */
export async function showInvitation(
  db: Db,
  { account_id: account, invitation }: UseInvitationBody,
): Promise<InvitationFacts> {
  const found = await readInvitation(db, invitation);
  if (found === undefined || (account !== undefined && account !== found.account_id)) throw ended();
  requireOpen(found);
  const { account_name, inviter: invited_by, name, email, expires_at } = found;
  return { object: 'invitation_facts', account_name, invited_by, name, email, expires_at };
}

/** Throws ApiError for an invitation that was used or has expired. */
function requireOpen({ used, expired }: InvitationRow): void {
  if (used) {
    const message = 'This invitation was used, and it works once. Ask for a new one.';
    throw new ApiError('invalid_credentials', message, PARAM);
  }
  if (expired) throw new ApiError('expired_token', 'This invitation has expired. Ask for a new one.', PARAM);
}

const PARAM = { param: 'invitation' } as const;

function ended(): ApiError {
  const message = 'This invitation is not valid: a newer one, or a change of the access, has ended it.';
  return new ApiError('invalid_credentials', message, PARAM);
}
