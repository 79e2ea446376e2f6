import { ApiError } from '../errors/errors.ts';
import { type Transitions, transition } from './transitions.ts';

/** What waits for a decision of people, as its locked row says it. */
export interface Awaiting {
  readonly status: string;
  /** Whether its time is over, although nothing has written that yet. */
  readonly isOverdue?: boolean | null;
  /** What a decision must have seen. */
  readonly version?: string | number;
}

/** What the decider was shown. */
export interface Seen {
  readonly version: string | number | undefined;
  /** The field of the request that says it. */
  readonly param: string;
  readonly noun: string;
}

/**
 * Decides what waits for people: the approval of a call, of a draft, the answer to a question. The
 * caller holds the lock of its row, so of several decisions at the same moment, on whichever nodes,
 * the first one counts, and the others are refused here. Returns the next status. Throws ApiError
 * `resource_conflict`: it was decided, its time is over, or it is not what the decider was shown.
 */
export function claim<Table extends Transitions<string>, Move extends keyof Table & string>(
  table: Table,
  move: Move,
  { status, isOverdue, version }: Awaiting,
  { param = null, seen }: { readonly param?: string | null; readonly seen?: Seen | undefined } = {},
): Table[Move]['to'] {
  const expire = table.expire;
  const isOver = isOverdue === true && expire?.from.includes(status) === true;
  const to = transition(table, move, isOver ? expire.to : status, param);
  if (seen?.version === undefined || seen.version === version) return to;
  const message = `The ${seen.noun} has changed since ${seen.param}. Read it again.`;
  throw new ApiError('resource_conflict', message, { param: seen.param });
}
