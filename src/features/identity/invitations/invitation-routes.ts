import { ApiError } from '@parley/protocol/errors/errors.ts';
import { Invitation } from '@parley/protocol/resources/invitation.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import { findUser, lockUser } from '../../../core/accounts/actors/users.ts';
import { requireGrant } from '../../../core/accounts/rights/grants.ts';
import { findRoleById } from '../../../core/accounts/rights/roles.ts';
import { auditAccount } from '../../../core/audit/audit.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import { writeInvitation } from './invitation-store.ts';

/** Returns the route that invites users of the team (docs/contract.md#invitations). */
export function invitationRoutes({ urls }: Pick<NodeParts, 'urls'>): Route[] {
  return [
    defineRoute({
      name: 'create_invitation',
      method: 'POST',
      path: '/v1/users/:id/invitations',
      summary: 'Invite a user whose role grants no more than the caller has to sign in once',
      since: '1.3.harbor',
      permission: 'tokens:create',
      agents: false,
      secret: true,
      refuses: ['resource_conflict'],
      status: 201,
      response: Invitation,
      async change(tx, { principal, params }) {
        const { accountId } = principal;
        const { id } = await findUser(tx, accountId, params.id!, 'id');
        // A concurrent change of the user either ends the new invitation or is seen here.
        const user = (await lockUser(tx, accountId, id))!;
        if (user.deactivated || user.role_id === null) {
          throw new ApiError('resource_conflict', 'Only an active user with a role can be invited.');
        }
        requireGrant(principal, await findRoleById(tx, accountId, user.role_id));
        const { secret, expiresAt } = await writeInvitation(tx, { accountId, actorId: id });
        await auditAccount(tx, principal, 'user.invited', { user_id: id });
        // The secret is in the fragment, which browsers send to no server.
        const url = `${urls.public}/console/#invitation=${secret}`;
        return { object: 'invitation', user_id: id, url, secret, expires_at: expiresAt };
      },
    }),
  ];
}
