import { notFound } from '@parley/protocol/errors/errors.ts';
import type { PublicRoutes } from '../../../api/pipeline/public-routes.ts';
import { AVATARS_PATH, type Avatars } from './avatars.ts';

/** Serves avatars to pages. The address is the credential, so no header is required. */
export function avatarRoutes(avatars: Pick<Avatars, 'open'>): PublicRoutes {
  return {
    [`${AVATARS_PATH}*`]: async ({ path }) => {
      const avatar = await avatars.open(path.slice(AVATARS_PATH.length));
      if (avatar === undefined) throw notFound('avatar');
      return {
        status: 200,
        body: avatar.bytes,
        contentType: avatar.contentType,
        headers: {
          'X-Content-Type-Options': 'nosniff',
          // A user's file in our origin: it must not run anything, whatever its content is.
          'Content-Security-Policy': "default-src 'none'; sandbox",
          // Pages of the application have another origin.
          'Cross-Origin-Resource-Policy': 'cross-origin',
          // Another image has another address. Shared caches do not keep it, since it may be
          // erased.
          'Cache-Control': 'private, max-age=86400, immutable',
        },
      };
    },
  };
}
