import type { Entries } from '../../platform/hooks.ts';
import { insertProvider, readProviders } from './providers/provider-store.ts';

/** The issuer of the sample shop's tokens. */
export const demo: Entries = {
  demoIssuer: async (tx, { audience, ...provider }) => {
    const known = await readProviders(tx, provider.account_id);
    return (
      known.find(({ issuer }) => issuer === provider.issuer) ??
      insertProvider(tx, {
        ...provider,
        audience: [audience],
        algorithms: ['HS256'],
        subject: 'external_id',
        person: 'customer',
      })
    );
  },
};
