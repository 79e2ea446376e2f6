import type {
  CreateIdentityProviderBody,
  IdentityProvider,
} from '@parley/protocol/resources/identity-provider.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import { callsAt, type TestApp } from '../support/app.ts';
import type { TokenIssuer } from '../support/token-issuer.ts';

export const AUDIENCE = 'https://chat.example.com';

/** Makes an identity provider of the demo account for an issuer. Throws unless it is made. */
export async function provide(
  app: TestApp,
  issuer: TokenIssuer,
  more: Partial<CreateIdentityProviderBody> & { readonly role_id?: string } = {},
): Promise<IdentityProvider> {
  const { call } = callsAt(app, NEWEST_VERSION);
  const hasKeys = more.jwks !== undefined || more.secret !== undefined;
  const { status, body, text } = await call<IdentityProvider>('POST', '/v1/identity-providers', {
    body: {
      name: 'Application',
      issuer: issuer.origin,
      audience: AUDIENCE,
      ...(!hasKeys && { jwks_url: issuer.keysUrl }),
      ...more,
    },
  });
  if (status !== 201) throw new Error(text);
  return body;
}
