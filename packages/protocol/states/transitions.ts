import { ApiError } from '../errors/errors.ts';

/** A move of a state machine: from any of these states to that one. */
interface Transition<State extends string> {
  readonly from: readonly State[];
  readonly to: State;
  /** One line for the documentation, which prints the table. */
  readonly when: string;
}

/** A state machine: its moves by name. A move that it lacks cannot happen. */
export type Transitions<State extends string> = Readonly<Record<string, Transition<State>>>;

/** Returns the state after a move. Throws ApiError `resource_conflict` for any other move. */
export function transition<Table extends Transitions<string>, Move extends keyof Table & string>(
  table: Table,
  move: Move,
  state: string,
  param: string | null = null,
): Table[Move]['to'] {
  const { from, to } = table[move]!;
  if (from.includes(state)) return to;
  throw new ApiError('resource_conflict', `Cannot ${move.replaceAll('_', ' ')}: the status is ${state}.`, {
    param,
  });
}
