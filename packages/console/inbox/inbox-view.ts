import type { WorkflowStatus } from '@parley/protocol/resources/conversation.ts';
import type { ViewFilters } from '@parley/protocol/resources/conversation-view.ts';
import type { InboxSummary } from '@parley/protocol/resources/inbox.ts';
import { texts } from '../texts/texts.ts';
import { textOf, UNFILTERED } from './list-filters.ts';

/** A part of the inbox that the list can show. */
export interface InboxView {
  readonly id: string;
  readonly label: string;
  readonly query: ViewFilters;
  /** The text of an empty list. */
  readonly empty: string;
  readonly kind: 'state' | 'type' | 'lane';
  /** The number of its conversations, where the summary has it. */
  readonly count?: (summary: InboxSummary) => number;
}

/** The names of lanes, in the order in which cases go through them. */
export const LANES: Readonly<Record<WorkflowStatus, string>> = texts.inbox.lanes;

/** All views; the first one is shown at first. */
export const VIEWS: readonly InboxView[] = [
  {
    id: 'all',
    label: texts.inbox.all,
    kind: 'state',
    query: UNFILTERED,
    empty: texts.inbox.empty.all,
  },
  {
    id: 'unread',
    label: texts.inbox.states.unread,
    kind: 'state',
    query: { filter: ['unread'] },
    empty: texts.inbox.empty.unread,
    count: ({ unread }) => unread,
  },
  {
    id: 'mine',
    label: texts.inbox.states.mine,
    kind: 'state',
    query: { filter: ['mine'] },
    empty: texts.inbox.empty.mine,
    count: ({ mine }) => mine,
  },
  {
    id: 'unassigned',
    label: texts.inbox.views.unassigned,
    kind: 'state',
    query: { filter: ['unassigned'] },
    empty: texts.inbox.empty.unassigned,
    count: ({ unassigned }) => unassigned,
  },
  {
    id: 'waiting',
    label: texts.inbox.views.waiting,
    kind: 'state',
    query: { order: 'waiting' },
    empty: texts.inbox.empty.waiting,
  },
  {
    id: 'snoozed',
    label: texts.inbox.views.snoozed,
    kind: 'state',
    query: { filter: ['snoozed'] },
    empty: texts.inbox.empty.snoozed,
    count: ({ snoozed }) => snoozed,
  },
  {
    id: 'archived',
    label: texts.inbox.views.archived,
    kind: 'state',
    query: { status: ['archived'] },
    empty: texts.inbox.empty.archived,
  },
  {
    id: 'hidden',
    label: texts.inbox.views.hidden,
    kind: 'state',
    query: { status: ['hidden'] },
    empty: texts.inbox.empty.hidden,
  },
  {
    id: 'direct',
    label: texts.inbox.directMessages,
    kind: 'type',
    query: { type: 'direct_message' },
    empty: texts.inbox.empty.direct,
  },
  {
    id: 'groups',
    label: texts.inbox.groups,
    kind: 'type',
    query: { type: 'group', audience: 'internal' },
    empty: texts.inbox.empty.groups,
  },
  {
    id: 'cases',
    label: texts.inbox.cases,
    kind: 'type',
    query: { audience: 'customer' },
    empty: texts.inbox.empty.cases,
  },
  ...(Object.entries(LANES) as [WorkflowStatus, string][]).map(
    ([lane, label]): InboxView => ({
      id: lane,
      label,
      kind: 'lane',
      query: { workflow_status: [lane] },
      empty: texts.inbox.empty.lane,
      count: ({ lanes }) => lanes[lane],
    }),
  ),
];

/** Returns the view with these filters; undefined where they are combined. */
export function viewOf(filters: ViewFilters): InboxView | undefined {
  const text = textOf(filters);
  return VIEWS.find(({ query }) => textOf(query) === text);
}
