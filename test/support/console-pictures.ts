/**
 * `npm run pictures`: draws the pictures of the console in README, of the demo account with its
 * day, into docs/images/.
 */

import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { startTestApp } from './app.ts';
import { ConsoleBrowser } from './console-page.ts';

const IMAGES = join(import.meta.dirname, '../../docs/images');
const releases: (() => void | Promise<void>)[] = [];
const t = { teardown: (release: () => void | Promise<void>) => void releases.push(release) };

async function draw(): Promise<void> {
  const app = await startTestApp(t, { PARLEY_DEMO_DAY: 'on' });
  const browser = await ConsoleBrowser.start(t, app.baseUrl);
  const page = await browser.open('ada');
  await page.setViewportSize({ width: 1280, height: 800 });
  await openCalled(page, 'Launch week');
  await shoot(page, 'console');
  await page.emulateMedia({ colorScheme: 'dark' });
  await openCalled(page, 'VAT number on invoice 2214');
  await page.getByRole('button', { name: 'Details' }).click();
  await page.getByRole('complementary', { name: 'Details' }).getByText('Ines Ferreira').first().waitFor();
  await shoot(page, 'console-dark');
}

async function openCalled(page: Page, name: string): Promise<void> {
  await page.locator('#side-bar').getByRole('link', { name }).first().click();
  await page.getByRole('log').getByRole('article').last().waitFor();
}

async function shoot(page: Page, name: string): Promise<void> {
  await page.mouse.move(640, 20);
  await page.waitForLoadState('networkidle');
  await page.screenshot({ path: join(IMAGES, `${name}.png`) });
}

try {
  await draw();
} finally {
  for (const release of releases.reverse()) await release();
}
process.exit();
