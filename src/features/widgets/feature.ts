import { filesOrigin } from '../../core/attachments/files-origin.ts';
import { GUIDE } from '../../core/documents/guides.ts';
import { OPERATION_TEXTS } from '../../core/documents/operation-texts.ts';
import { CONFIRMATION_MAIL, SENDS_MAIL } from '../../core/features/address-mail.ts';
import { HOLDINGS } from '../../core/features/all-holdings.ts';
import type { Feature } from '../../core/features/feature.ts';
import { handle } from '../../platform/db/queue/topic.ts';
import { sharedSecret } from '../../platform/db/shared-secret.ts';
import { implement } from '../../platform/hooks.ts';
import { addressRoutes } from './addresses/address-routes.ts';
import { confirmationMail } from './addresses/confirmation-mail.ts';
import { CONFIRMATION_SECRET, purgeConfirmations } from './addresses/confirmation-store.ts';
import { demo } from './demo.ts';
import { BUILT, frameRoutes } from './frame/frame-routes.ts';
import { widgetHoldings } from './holdings.ts';
import { settleClaim, settleLate, VISITOR_CLAIMED } from './visitors/claim.ts';
import { visitorRoutes } from './visitors/visitor-routes.ts';
import { purgeSilent } from './visitors/visitor-store.ts';
import { widgetRoutes } from './widgets/widget-routes.ts';

export const widgets: Feature = widgetsFrom(BUILT);

/** Tests pass another folder of built files. */
export function widgetsFrom(built: URL): Feature {
  return {
    hooks: [
      implement(HOLDINGS, widgetHoldings),
      implement(CONFIRMATION_MAIL, confirmationMail),
      implement(OPERATION_TEXTS, new URL('operations.md', import.meta.url)),
      implement(GUIDE, { name: 'site-chat', file: new URL('guide.md', import.meta.url), place: 62 }),
      ...demo,
    ],
    async open(node) {
      const { database, config } = node;
      const secret = await sharedSecret(database, CONFIRMATION_SECRET);
      const sendsMail = database.hooks.first(SENDS_MAIL)?.(config) ?? false;
      const routes = [
        ...widgetRoutes({ database, sendsMail }),
        ...visitorRoutes(node),
        ...addressRoutes({ ...node, secret, sendsMail }),
      ];
      return {
        join: () => ({
          routes: { settings: routes },
          publicRoutes: frameRoutes({ database, filesOrigin: filesOrigin(config.s3) }, built),
          jobs: [handle(VISITOR_CLAIMED, (claimed) => settleClaim(database, claimed))],
          async tidy() {
            await settleLate(database);
            await purgeSilent(database);
            await purgeConfirmations(database);
          },
        }),
      };
    },
  };
}
