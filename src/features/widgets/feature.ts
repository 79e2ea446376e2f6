import { filesOrigin } from '../../core/attachments/files-origin.ts';
import type { Feature } from '../../core/features/feature.ts';
import { handle } from '../../platform/db/queue/topic.ts';
import { sharedSecret } from '../../platform/db/shared-secret.ts';
import { addressRoutes } from './addresses/address-routes.ts';
import { confirmationMail } from './addresses/confirmation-mail.ts';
import { CONFIRMATION_SECRET, purgeConfirmations } from './addresses/confirmation-store.ts';
import { demo } from './demo.ts';
import { BUILT, frameRoutes } from './frame/frame-routes.ts';
import { widgetHoldings } from './holdings.ts';
import { settleClaim, settleLate, VISITOR_CLAIMED } from './visitors/claim.ts';
import { unreadRoutes } from './visitors/unread-routes.ts';
import { visitorRoutes } from './visitors/visitor-routes.ts';
import { purgeSilent } from './visitors/visitor-store.ts';
import { widgetRoutes } from './widgets/widget-routes.ts';
import { forgetInbox } from './widgets/widget-store.ts';

export const widgets: Feature = widgetsFrom(BUILT);

/** Returns the feature; tests pass another folder of built files. */
export function widgetsFrom(built: URL): Feature {
  return {
    hooks: {
      holdings: widgetHoldings,
      confirmationMail,
      inboxDeleted: forgetInbox,
      operationTexts: new URL('operations.md', import.meta.url),
      guide: { name: 'site-chat', file: new URL('guide.md', import.meta.url), place: 62 },
      ...demo,
    },
    async open(node) {
      const { database, config } = node;
      const secret = await sharedSecret(database, CONFIRMATION_SECRET);
      const sendsMail = database.hooks.first('sendsMail')?.(config) ?? false;
      const routes = [
        ...widgetRoutes({ database, sendsMail }),
        ...visitorRoutes(node),
        ...unreadRoutes(database),
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
