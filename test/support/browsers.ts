import puppeteer, { type Browser } from 'puppeteer-core';
import { freshDirectory } from '../start/parley.ts';
import { findProgram } from './debian-program.ts';
import type { Teardown } from './teardown.ts';

/** Programs of the browsers in which pages are tried, by name. */
const PROGRAMS = {
  chrome: { names: ['chromium', 'chromium-browser', 'google-chrome'], package: 'chromium' },
  firefox: { names: ['firefox-esr', 'firefox'], package: 'firefox-esr' },
} as const;

export type BrowserName = keyof typeof PROGRAMS;

/**
 * Starts one of these browsers, for tests that run in each of them. Those of Chromium alone use
 * `startChromium`: Playwright knows no BiDi, the protocol of Firefox's releases.
 */
export async function startBrowser(t: Teardown, browser: BrowserName): Promise<Browser> {
  const program = PROGRAMS[browser];
  const advice = `this test needs ${program.package} on the PATH`;
  const started = await puppeteer.launch({
    browser,
    executablePath: await findProgram({ ...program, advice }),
    userDataDir: freshDirectory(t),
    args: browser === 'chrome' ? ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] : [],
  });
  t.teardown(() => started.close());
  return started;
}
