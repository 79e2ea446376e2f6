import { WIDGET_LIMITS } from '@parley/protocol/resources/widget.ts';
import type { Entries } from '../../platform/hooks.ts';
import { insertWidget, updateWidget } from './widgets/widget-store.ts';

/** The widget of the sample shop. Each node of the demo account adds the site that it serves. */
export const demo: Entries = {
  demoWidget: async (tx, { site, ...widget }, id) => {
    const known = await tx.kysely
      .selectFrom('widgets')
      .selectAll()
      .where('id', '=', id ?? '')
      .forUpdate()
      .executeTakeFirst();
    if (known === undefined) return insertWidget(tx, { ...widget, sites: [site] });
    if (known.sites.includes(site)) return known;
    return updateWidget(tx, known, { sites: [site, ...known.sites].slice(0, WIDGET_LIMITS.sites) });
  },
};
