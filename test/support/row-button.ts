import type { Locator } from 'playwright-core';
import { until } from './until.ts';

/**
 * Clicks a button that is there while the pointer is over its row. A line that appears above moves
 * the row and its buttons away from the pointer, so a click that waits for the button to stand
 * still may wait in vain: the row is found again. The page comes to the front first; behind another
 * page it would get one frame a second, and each step waits for several.
 */
export async function clickInRow(row: Locator, name: string): Promise<void> {
  await row.page().bringToFront();
  const button = row.getByRole('button', { name, exact: true });
  await until(
    async () => {
      await row.hover();
      return await isClicked(button);
    },
    { what: `"${name}" to be clicked` },
  );
}

/** Chooses from the menu of a row, which closes when the row moves away under it. */
export async function chooseInRow(row: Locator, name: string): Promise<void> {
  const item = row.page().getByRole('menuitem', { name });
  await until(
    async () => {
      if (!(await item.isVisible())) await clickInRow(row, 'More actions');
      return await isClicked(item);
    },
    { what: `"${name}" to be chosen` },
  );
}

function isClicked(target: Locator): Promise<boolean> {
  return target.click({ timeout: TRY_MS }).then(
    () => true,
    () => false,
  );
}

const TRY_MS = 5_000;
