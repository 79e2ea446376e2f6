/**
 * Reading back through messages of different heights, in Chromium and in Firefox.
 *
 * Without influence: OPERATION, ASIDE, ANSWERS, packages/client/ai,
 * src/features/compliance, src/features/mail, src/features/widgets.
 */

import t from 'tap';
import { startTestApp } from '../../support/app.ts';
import { startBrowser } from '../../support/browsers.ts';

const MESSAGES = 200;
const STEPS = 60;
const STEP_PX = 120;
/** Rounding of positions by browsers. */
const OFF_PX = 3;

const app = await startTestApp(t);
const { group } = app.demo.conversations;
const { access_token: token } = app.demo.users.ada;
const path = `/v1/messaging/conversations/${group}/messages`;
for (let n = 1; n <= MESSAGES; n++) {
  const body = `Message ${n}. ${'Words that fill some lines of the timeline. '.repeat((n * 7) % 23)}`;
  await app.call('POST', path, { body: { client_message_id: `back-${n}`, body }, token });
}

for (const name of ['chrome', 'firefox'] as const) {
  t.test(`${name}: messages move by as much as the list is scrolled`, async (t) => {
    const browser = await startBrowser(t, name);
    const page = await browser.newPage();
    page.setDefaultTimeout(60_000);
    await page.goto(`${app.baseUrl}/console/c/${group}?as=ada`);
    await page.waitForFunction(
      (last) => document.querySelector('.timeline-rows')?.textContent?.includes(last),
      {},
      `Message ${MESSAGES}.`,
    );
    const moves = await page.evaluate(readBack, STEPS, STEP_PX);
    t.ok(moves.length > STEPS, `${moves.length} positions`);
    t.strictSame(
      moves.filter((px) => Math.abs(px - STEP_PX) > OFF_PX),
      [],
    );
  });
}

/**
 * Scrolls back in the page, and returns by how many pixels a message in the middle has moved, in
 * each of eight frames after each step.
 */
async function readBack(steps: number, px: number): Promise<number[]> {
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const list = document.querySelector('.timeline-scroll')!;
  const middle = () => {
    const { top, bottom } = list.getBoundingClientRect();
    return [...document.querySelectorAll('.timeline-rows .message')].find(
      (row) => row.getBoundingClientRect().bottom > (top + bottom) / 2,
    )!;
  };
  const moves: number[] = [];
  for (let step = 0; step < steps && list.scrollTop > px; step++) {
    const row = middle();
    const { top } = row.getBoundingClientRect();
    list.scrollTop -= px;
    for (let n = 0; n < 8; n++) {
      await frame();
      moves.push(row.getBoundingClientRect().top - top);
    }
  }
  return moves;
}
