import type { Holdings } from '../../core/resources/holdings.ts';
import { forgetAddresses } from './addresses/confirmation-store.ts';

/** Widgets, and the data about their visitors besides their conversations. */
export const widgetHoldings: Holdings = {
  tables: {
    widgets: { account: 'last', moved: { last: 'true' } },
    visitors: { account: 'last' },
    address_confirmations: { account: 'last', visitor_id: 'removed' },
  },
  async erasePerson(database, { accountId, names }) {
    const addresses = names.filter((name) => name.includes('@')).map((name) => name.toLowerCase());
    if (addresses.length > 0) await forgetAddresses(database, accountId, addresses);
  },
};
