import type { Feature } from '../../core/features/feature.ts';
import { sharedSecret } from '../../platform/db/shared-secret.ts';
import { GuardedFetch } from '../../platform/outbound/guarded-fetch.ts';
import { demo } from './demo.ts';
import { invitationMail } from './invitations/invitation-mail.ts';
import { invitationRoutes } from './invitations/invitation-routes.ts';
import { INVITATION_SECRET } from './invitations/invitation-store.ts';
import { KeySets } from './keys/key-sets.ts';
import { IDENTITY_SECRET, identityHoldings } from './persons/holdings.ts';
import { Persons } from './persons/persons.ts';
import { providerRoutes } from './providers/provider-routes.ts';
import { readIssuers } from './providers/provider-store.ts';
import { openSignIn, signInTables } from './sign-in/sign-in.ts';
import { TokenVerifier } from './tokens/token-verifier.ts';

export const identity: Feature = {
  hooks: {
    holdings: { ...identityHoldings, tables: { ...identityHoldings.tables, ...signInTables } },
    invitationMail,
    tokenIssuers: readIssuers,
    operationTexts: new URL('operations.md', import.meta.url),
    guide: { name: 'your-own-tokens', file: new URL('guide.md', import.meta.url), place: 35 },
    ...demo,
  },
  async open(node) {
    const { database, rights, guard, log, authenticator, disposer } = node;
    const persons = new Persons(database, await sharedSecret(database, IDENTITY_SECRET));
    const keys = new KeySets({ fetch: new GuardedFetch(guard), log });
    const verifier = new TokenVerifier({ database, rights, keys, persons });
    disposer.add('tokens of identity providers', verifier, (it) => it.close());
    authenticator.accept(verifier);
    const signIn = await openSignIn(node, { persons, keys });
    const sendsMail = database.hooks.first('sendsMail')?.(node.config) ?? false;
    const key = await sharedSecret(database, INVITATION_SECRET);
    const invitations = invitationRoutes({ urls: node.urls, sendsMail, key });
    return {
      join: () => ({ routes: { settings: [...providerRoutes(node), ...invitations] }, ...signIn }),
    };
  },
};
