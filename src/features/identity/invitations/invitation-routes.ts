import { ApiError } from '@parley/protocol/errors/errors.ts';
import { Invitation, MailedInvitation } from '@parley/protocol/resources/invitation.ts';
import type { Principal } from '../../../api/access/principal.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import { findUser, lockUser } from '../../../core/accounts/actors/users.ts';
import { requireGrant } from '../../../core/accounts/rights/grants.ts';
import { findRoleById } from '../../../core/accounts/rights/roles.ts';
import { auditAccount } from '../../../core/audit/audit.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import { INVITATION_DUE } from '../../../core/features/mails.ts';
import { hasAddress, type UserProfile } from '../../../core/resources/user.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { enqueue } from '../../../platform/db/queue/outbox.ts';
import { invitationUrl } from './invitation-mail.ts';
import { writeInvitation, writeMailed } from './invitation-store.ts';

export interface InvitationParts extends Pick<NodeParts, 'urls'> {
  readonly sendsMail: boolean;
  /** The secret from which those of mailed invitations are made. */
  readonly key: string;
}

/** Returns the routes that invite users of the team (docs/contract.md#invitations). */
export function invitationRoutes({ urls, sendsMail, key }: InvitationParts): Route[] {
  const common = {
    method: 'POST',
    permission: 'tokens:create',
    agents: false,
    refuses: ['resource_conflict'],
    status: 201,
  } as const;
  return [
    defineRoute({
      ...common,
      name: 'create_invitation',
      path: '/v1/users/:id/invitations',
      summary: 'Invite a user whose role grants no more than the caller has to sign in once',
      since: '1.3.harbor',
      secret: true,
      response: Invitation,
      async change(tx, { principal, params }) {
        const { id } = await lockInvited(tx, principal, params.id!);
        const invited = { accountId: principal.accountId, actorId: id, by: principal.actor.id };
        const { secret, expiresAt } = await writeInvitation(tx, invited);
        await auditAccount(tx, principal, 'user.invited', { user_id: id });
        const url = invitationUrl(urls.public, secret);
        return { object: 'invitation', user_id: id, url, secret, expires_at: expiresAt };
      },
    }),
    defineRoute({
      ...common,
      name: 'mail_invitation',
      path: '/v1/users/:id/actions/mail-invitation',
      summary: 'Invite a user in the same way by a mail to its address',
      since: '1.4.harbor',
      response: MailedInvitation,
      async change(tx, { principal, params }) {
        const user = await lockInvited(tx, principal, params.id!);
        const { id, email } = user;
        if (!hasAddress(user)) {
          throw new ApiError(
            'resource_conflict',
            'The user has no email address. Give the user a link instead.',
          );
        }
        if (!sendsMail) {
          throw new ApiError('resource_conflict', 'This server sends no mail. Give the user a link instead.');
        }
        const { accountId } = principal;
        const invited = { accountId, actorId: id, by: principal.actor.id };
        const made = await writeMailed(tx, invited, key);
        const due = { invitation_id: made.id, account_id: accountId, user_id: id, address: email };
        await enqueue(tx, INVITATION_DUE, due);
        await auditAccount(tx, principal, 'user.invited', { user_id: id, mailed: true });
        return { object: 'mailed_invitation', user_id: id, email, expires_at: made.expiresAt };
      },
    }),
  ];
}

/** Returns the locked user that the caller may invite. Throws ApiError. */
async function lockInvited(tx: Tx, principal: Principal, userId: string): Promise<UserProfile> {
  const { accountId } = principal;
  const { id } = await findUser(tx, accountId, userId, 'id');
  // A concurrent change of the user either ends the new invitation or is seen here.
  const user = (await lockUser(tx, accountId, id))!;
  if (user.deactivated || user.role_id === null) {
    throw new ApiError('resource_conflict', 'Only an active user with a role can be invited.');
  }
  requireGrant(principal, await findRoleById(tx, accountId, user.role_id));
  return user;
}
