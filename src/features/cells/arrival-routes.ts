import type { PublicRoutes } from '../../api/pipeline/public-routes.ts';
import { FileUrls } from '../../core/attachments/file-urls.ts';
import { type ArrivalsOptions, CELLS_PATH, readArrivals } from './arrivals.ts';

/** Returns the routes for other cells; the signature of the URL is the credential. */
export function arrivalRoutes(options: Pick<ArrivalsOptions, 'database' | 'secret'>): PublicRoutes {
  return {
    [`${CELLS_PATH}arrivals`]: {
      limited: {
        async get({ path, query }) {
          const urls = new FileUrls({ secret: options.secret, baseUrl: () => '', path: CELLS_PATH });
          const { from = '' } = urls.verify('GET', path, query).fields;
          const data = await readArrivals(options, from);
          return {
            status: 200,
            contentType: 'application/json',
            body: JSON.stringify({ object: 'list', data }),
          };
        },
      },
    },
  };
}
