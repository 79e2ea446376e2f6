import type { WorkflowStatus } from '@parley/protocol/resources/conversation.ts';
import type { ViewFilters } from '@parley/protocol/resources/conversation-view.ts';
import type { InboxSummary } from '@parley/protocol/resources/inbox.ts';
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
export const LANES: Readonly<Record<WorkflowStatus, string>> = {
  new: 'New',
  open: 'Open',
  needs_approval: 'Needs approval',
  waiting_internal: 'Waiting for the team',
  waiting_external: 'Waiting for the customer',
  resolved: 'Resolved',
};

/** All views; the first one is shown at first. */
export const VIEWS: readonly InboxView[] = [
  {
    id: 'all',
    label: 'All',
    kind: 'state',
    query: UNFILTERED,
    empty: 'There are no conversations yet.',
  },
  {
    id: 'unread',
    label: 'Unread',
    kind: 'state',
    query: { filter: ['unread'] },
    empty: 'Everything is read.',
    count: ({ unread }) => unread,
  },
  {
    id: 'mine',
    label: 'Mine',
    kind: 'state',
    query: { filter: ['mine'] },
    empty: 'No open case is assigned to you.',
    count: ({ mine }) => mine,
  },
  {
    id: 'unassigned',
    label: 'Unassigned',
    kind: 'state',
    query: { filter: ['unassigned'] },
    empty: 'Each open case has an owner.',
    count: ({ unassigned }) => unassigned,
  },
  {
    id: 'waiting',
    label: 'Longest waiting',
    kind: 'state',
    query: { order: 'waiting' },
    empty: 'No customer waits for an answer.',
  },
  {
    id: 'snoozed',
    label: 'Snoozed',
    kind: 'state',
    query: { filter: ['snoozed'] },
    empty: 'Nothing is snoozed.',
    count: ({ snoozed }) => snoozed,
  },
  {
    id: 'archived',
    label: 'Archived',
    kind: 'state',
    query: { status: ['archived'] },
    empty: 'Nothing is archived.',
  },
  {
    id: 'hidden',
    label: 'Hidden',
    kind: 'state',
    query: { status: ['hidden'] },
    empty: 'Nothing is hidden.',
  },
  {
    id: 'direct',
    label: 'Direct messages',
    kind: 'type',
    query: { type: 'direct_message' },
    empty: 'There are no direct messages yet.',
  },
  {
    id: 'groups',
    label: 'Groups',
    kind: 'type',
    query: { type: 'group', audience: 'internal' },
    empty: 'There are no groups yet.',
  },
  {
    id: 'cases',
    label: 'Customer cases',
    kind: 'type',
    query: { audience: 'customer' },
    empty: 'There are no customer cases.',
  },
  ...(Object.entries(LANES) as [WorkflowStatus, string][]).map(
    ([lane, label]): InboxView => ({
      id: lane,
      label,
      kind: 'lane',
      query: { workflow_status: [lane] },
      empty: 'There are no cases in this lane.',
      count: ({ lanes }) => lanes[lane],
    }),
  ),
];

/** Returns the view with these filters; undefined where they are combined. */
export function viewOf(filters: ViewFilters): InboxView | undefined {
  const text = textOf(filters);
  return VIEWS.find(({ query }) => textOf(query) === text);
}
