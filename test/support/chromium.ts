import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BrowserContext, chromium } from 'playwright-core';
import { freshDirectory } from '../start/parley.ts';
import { findProgram } from './debian-program.ts';
import type { Teardown } from './teardown.ts';

/**
 * Starts a browser of the test's own, whose pages share their storage like one person's pages. It
 * is a program with a profile, not a context of a program that files share: contexts are off the
 * record, where Chromium keeps no compiled scripts. That costs three files of the console 4 s of
 * processor time, and three starts cost 2 s. `preferences`: settings that a person has made.
 */
export async function startChromium(t: Teardown, preferences?: object): Promise<BrowserContext> {
  const executablePath = await findProgram({
    names: ['chromium', 'chromium-browser', 'google-chrome'],
    package: 'chromium',
    advice: 'this test needs chromium on the PATH',
  });
  const profile = freshDirectory(t);
  if (preferences !== undefined) {
    await mkdir(join(profile, 'Default'), { recursive: true });
    await writeFile(join(profile, 'Default', 'Preferences'), JSON.stringify(preferences));
  }
  const context = await chromium.launchPersistentContext(profile, {
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
  // As patient as `until`: other tests may keep the machine busy.
  context.setDefaultTimeout(60_000);
  t.teardown(() => context.close());
  return context;
}
