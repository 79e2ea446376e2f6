import { allHoldings } from '../../core/features/all-holdings.ts';
import type { HeldTable, Moved } from '../../core/resources/holdings.ts';
import type { Hooks } from '../../platform/hooks.ts';

export type MovedTable = Moved & Required<Pick<Moved, 'by'>>;

/** Returns the tables with rows of accounts that move, each after the tables that it references. */
export function movedTables(hooks: Hooks): [table: string, MovedTable][] {
  const tables = allHoldings({ hooks }).flatMap((holdings) =>
    Object.entries(holdings.tables as Readonly<Record<string, HeldTable>>),
  );
  return tables.flatMap(([table, { account, moved }]): [string, MovedTable][] => {
    if (moved === undefined && typeof account !== 'string') return [];
    return [[table, { by: 'account_id', ...moved }]];
  });
}
