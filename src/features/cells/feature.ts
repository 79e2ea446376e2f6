import type { Feature } from '../../core/features/feature.ts';
import { cancelMove, moveAccount } from './account-move.ts';
import { Cell } from './cell.ts';
import { lowerFence, readForgottenFences } from './fence.ts';

export const cells: Feature = {
  accountMoves: { move: moveAccount, cancel: cancelMove },
  open: ({ database }) => ({
    join: () => ({
      tidy: () =>
        database.withoutTimeLimit(async (kysely) => {
          const cell = new Cell(kysely);
          for (const id of await readForgottenFences(cell)) await lowerFence(cell, id);
        }),
    }),
  }),
};
