import type { Feature } from '../../core/features/feature.ts';
import { GuardedRequest } from '../../platform/outbound/guarded-request.ts';
import { cardRoutes } from './card-routes.ts';
import { Cards } from './cards.ts';

export const customerCards: Feature = {
  hooks: {
    holdings: { tables: { customer_card_sources: { account: 'last', moved: { last: 'true' } } } },
    operationTexts: new URL('operations.md', import.meta.url),
    guide: { name: 'customer-cards', file: new URL('guide.md', import.meta.url), place: 68 },
  },
  open(node) {
    const cards = new Cards({ request: new GuardedRequest(node.guard).fetch });
    return { join: () => ({ routes: { settings: cardRoutes(node, cards) } }) };
  },
};
