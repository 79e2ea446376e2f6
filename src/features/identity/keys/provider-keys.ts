import { errors, type JWTVerifyGetKey } from 'jose';
import type { KeySets, KeySource } from './key-sets.ts';

/**
 * Finds the public key of a token among its provider's keys. Rejects with a JOSEError if there is
 * none, as for a provider with a shared secret, or with ApiError `service_unavailable`.
 */
export function keysOfProvider(
  keys: Pick<KeySets, 'of' | 'renewed'>,
  provider: KeySource & { readonly secret: string | null },
): JWTVerifyGetKey {
  return async (header, token) => {
    if (provider.secret !== null) throw new errors.JWKSNoMatchingKey();
    const known = await keys.of(provider);
    try {
      return await known(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const renewed = await keys.renewed(provider);
      if (renewed === undefined) throw error;
      return renewed(header, token);
    }
  };
}
