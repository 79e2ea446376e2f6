import type { Feature } from '../../core/features/feature.ts';
import { sharedSecret } from '../../platform/db/shared-secret.ts';
import { arrivalRoutes } from './arrival-routes.ts';
import { endFormerAccounts } from './arrivals.ts';
import { lowerForgottenFences } from './fence.ts';

export const cells: Feature = {
  async open({ config, database, log }) {
    const secret = await sharedSecret(database, 'identity_secret');
    await endFormerAccounts({ database, log, url: config.publicUrl, cells: config.cells, secret });
    return {
      join: () => ({
        publicRoutes: arrivalRoutes({ database, secret }),
        tidy: () => lowerForgottenFences(database),
      }),
    };
  },
};
