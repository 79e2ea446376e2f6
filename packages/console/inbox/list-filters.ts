import type { InboxQuery } from '@parley/client';
import {
  AUDIENCES,
  CONVERSATION_STATUSES,
  CONVERSATION_TYPES,
  INBOX_FILTERS,
  INBOX_ORDERS,
  WORKFLOW_STATUSES,
} from '@parley/protocol/resources/conversation-values.ts';
import type { ViewFilters } from '@parley/protocol/resources/conversation-view.ts';
import { useCallback } from 'preact/hooks';
import { setList, useList } from '../nav/place.ts';
import { useKept } from './kept.ts';

const ONE = {
  order: INBOX_ORDERS,
  type: CONVERSATION_TYPES,
  audience: AUDIENCES,
} as const satisfies Partial<Record<keyof ViewFilters, readonly string[]>>;

const SEVERAL = {
  filter: INBOX_FILTERS,
  status: CONVERSATION_STATUSES,
  workflow_status: WORKFLOW_STATUSES,
} as const satisfies Partial<Record<keyof ViewFilters, readonly string[]>>;

const IDS = ['assignee_id', 'group_id', 'inbox_id'] as const satisfies readonly (keyof ViewFilters)[];

/** Returns filters as a text, the same for the same filters. */
export function textOf(filters: ViewFilters): string {
  const query = new URLSearchParams();
  for (const name of [...Object.keys(ONE), ...Object.keys(SEVERAL), ...IDS] as (keyof ViewFilters)[]) {
    const value = filters[name];
    const text = Array.isArray(value) ? value.toSorted().join(',') : value;
    if (text) query.set(name, String(text));
  }
  return query.toString();
}

/** Returns the filters of a text, without what is none. */
export function filtersOf(text: string): ViewFilters {
  const query = new URLSearchParams(text);
  const found: Record<string, unknown> = {};
  for (const [name, values] of Object.entries(ONE)) {
    const value = query.get(name);
    if (value !== null && (values as readonly string[]).includes(value)) found[name] = value;
  }
  for (const [name, values] of Object.entries(SEVERAL)) {
    const given = query.get(name)?.split(',') ?? [];
    const known = values.filter((value) => given.includes(value));
    if (known.length > 0) found[name] = known;
  }
  for (const name of IDS) {
    const value = query.get(name);
    if (value) found[name] = value;
  }
  return found as ViewFilters;
}

/** Returns the query of the list. A single value is sent as one, as servers of before know it. */
export function queryOf(filters: ViewFilters): InboxQuery {
  const single = Object.entries(filters).map(([name, value]) => [
    name,
    Array.isArray(value) && value.length === 1 ? value[0] : value,
  ]);
  return Object.fromEntries(single) as InboxQuery;
}

/**
 * The filters of a list without any: resolved cases and archived conversations have views of their
 * own.
 */
export const UNFILTERED: ViewFilters = { filter: ['open'], status: ['active'] };

/**
 * The filters of the list of conversations. They are in the address of the page, so that it is a
 * link, and stay with the tab.
 */
export function useListFilters(): readonly [ViewFilters, (filters: ViewFilters) => void] {
  const [kept, keep] = useKept('inbox-list');
  const given = useList();
  const choose = useCallback(
    (filters: ViewFilters) => {
      const text = textOf(filters);
      keep(text);
      setList(text);
    },
    [keep],
  );
  const filters = filtersOf(given ?? kept ?? '');
  return [Object.keys(filters).length === 0 ? UNFILTERED : filters, choose];
}
