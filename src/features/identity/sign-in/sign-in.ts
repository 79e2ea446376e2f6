import type { Joined, NodeParts } from '../../../core/features/feature.ts';
import type { Holdings } from '../../../core/resources/holdings.ts';
import { sharedSecret } from '../../../platform/db/shared-secret.ts';
import { purgeInvitations } from '../invitations/invitation-store.ts';
import type { KeySets } from '../keys/key-sets.ts';
import type { Persons } from '../persons/persons.ts';
import { purgeSignIns } from '../sign-ins.ts';
import { FlowSeal } from './flow-seal.ts';
import { logoutRoutes } from './logout-routes.ts';
import { RelyingParty } from './relying-party.ts';
import { sessionRoutes } from './session-routes.ts';
import { signInRoutes } from './sign-in-routes.ts';

export interface SignInOptions {
  readonly persons: Persons;
  readonly keys: KeySets;
}

/** Opens sign-in by identity providers for people of the team (docs/contract.md#sign-in). */
export async function openSignIn(
  node: NodeParts,
  { persons, keys }: SignInOptions,
): Promise<Pick<Required<Joined>, 'publicRoutes' | 'tidy'>> {
  const { database, guard } = node;
  const secret = await sharedSecret(database, 'sign_in_secret');
  return {
    publicRoutes: {
      ...signInRoutes({ ...node, persons, party: new RelyingParty(guard), seal: new FlowSeal(secret) }),
      ...sessionRoutes({ ...node, secret }),
      ...logoutRoutes({ ...node, keys }),
    },
    tidy: async () => {
      await purgeSignIns(database);
      await purgeInvitations(database);
    },
  };
}

export const signInTables = {
  invitations: { account: 'last', actor_id: 'removed' },
  sign_ins: { account: 'last', actor_id: 'removed' },
  logout_tokens: { account: 'last', moved: { by: 'provider_id', of: 'identity_providers' } },
} as const satisfies Holdings['tables'];
