import { freshDirectory, startParley } from '../start/parley.ts';
import { findProgram } from './debian-program.ts';
import type { Teardown } from './teardown.ts';

/** Opens a page in a browser of its own, which ends with the test. */
export async function openPage(t: Teardown, url: string): Promise<void> {
  const chromium = await findProgram({
    names: ['chromium', 'chromium-browser', 'google-chrome'],
    package: 'chromium',
    advice: 'this test needs chromium on the PATH',
  });
  const flags = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    '--no-first-run',
    '--disable-background-networking',
    `--user-data-dir=${freshDirectory(t)}`,
  ];
  startParley(t, {}, { command: [chromium, ...flags, url] });
}
