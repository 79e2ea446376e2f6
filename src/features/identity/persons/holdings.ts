import type { Holdings } from '../../../core/resources/holdings.ts';
import { sharedSecret } from '../../../platform/db/shared-secret.ts';
import { readProviders } from '../providers/provider-store.ts';
import { keepErased } from './persons.ts';

export const IDENTITY_SECRET = 'identity_secret';

/** The identities of a person stay after its erasure, so that its tokens are still refused. */
export const identityHoldings: Holdings = {
  tables: {
    identity_providers: { account: 'last' },
    identities: { account: 'last' },
  },
  async blankPerson(tx, person) {
    const providers = await readProviders(tx, person.account_id);
    if (providers.length === 0) return;
    await keepErased(tx, await sharedSecret(tx, IDENTITY_SECRET), providers, person);
  },
};
