import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { BrowserContext, Page } from 'playwright-core';
import { startChromium } from './chromium.ts';
import type { Teardown } from './teardown.ts';

/** Opens pages of the console in a browser, and collects the problems of their scripts. */
export class ConsoleBrowser {
  readonly context: BrowserContext;
  /** Uncaught errors, refusals of the content policy, and errors in the browser's console. */
  readonly problems: string[] = [];
  readonly #baseUrl: string;

  private constructor(context: BrowserContext, baseUrl: string) {
    this.context = context;
    this.#baseUrl = baseUrl;
  }

  static async start(t: Teardown, baseUrl: string): Promise<ConsoleBrowser> {
    return new ConsoleBrowser(await startChromium(t), baseUrl);
  }

  /**
   * Opens a page as a person of the demo account (`ada`, `grace`), at a path below `/console/`,
   * with what its tab has kept. Resolves when the console is shown.
   */
  async open(person: string, path = '', kept: Readonly<Record<string, string>> = {}): Promise<Page> {
    const page = await this.context.newPage();
    this.watch(page);
    await page.addInitScript((items) => {
      for (const [name, value] of Object.entries(items)) sessionStorage.setItem(name, value);
    }, kept);
    const url = new URL(`/console/${path}`, this.#baseUrl);
    url.searchParams.set('as', person);
    await page.goto(url.href);
    await page.locator('.shell').waitFor();
    return page;
  }

  /** Shows another place of the console in a page, without loading it again. */
  async go(page: Page, path: string): Promise<void> {
    const url = JSON.stringify(`/console/${path}`);
    await page.evaluate(`history.pushState(null, '', ${url}); dispatchEvent(new PopStateEvent('popstate'))`);
  }

  /** Collects the problems of a page. */
  watch(page: Page): void {
    page.on('pageerror', (error) => this.problems.push(error.stack ?? error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') this.problems.push(message.text());
    });
  }
}

/** Returns a function of an element that runs in the page. */
export function inPage(code: string) {
  return new Function('element', code) as (element: unknown) => unknown;
}

/**
 * Returns whether the focused field takes a key of an input method, in one of the ways of browsers:
 * marked, unmarked within the composition, or right after its end, as in Safari.
 */
export function takesKeysOfInputMethods(page: Page): Promise<boolean> {
  return page.locator(':focus').evaluate(
    inPage(`
      const isTaken = (key, more = {}) =>
        !element.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more }));
      const compose = (type) => element.dispatchEvent(new CompositionEvent(type, { bubbles: true }));
      return ['Enter', 'ArrowDown', 'Tab', 'Escape'].some((key) => {
        if (isTaken(key, { isComposing: true }) || isTaken(key, { keyCode: 229 })) return true;
        compose('compositionstart');
        const isTakenWithin = isTaken(key);
        compose('compositionend');
        return isTakenWithin || isTaken(key);
      });
    `),
  ) as Promise<boolean>;
}

/** The rules of axe-core about colours: other rules find the same in every theme. */
export const COLOUR_RULES = ['color-contrast', 'link-in-text-block'] as const;

/** Returns the findings of axe-core in the page in both themes, one line each. */
export async function findingsInThemes(page: Page): Promise<string[]> {
  await page.emulateMedia({ colorScheme: 'light' });
  const light = await findingsOf(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await findingsOf(page, COLOUR_RULES);
  await page.emulateMedia({ colorScheme: null });
  return [...light.map((one) => `light: ${one}`), ...dark.map((one) => `dark: ${one}`)];
}

/** Returns the findings of axe-core in the page, one line each. `rules` limits it to these. */
export async function findingsOf(page: Page, rules?: readonly string[]): Promise<string[]> {
  // As an extension's script would be, so that the content policy of the page does not refuse it.
  const session = await page.context().newCDPSession(page);
  const { result: there } = await session.send('Runtime.evaluate', { expression: 'typeof axe' });
  if (there.value === 'undefined') {
    axeSource ??= await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
    await session.send('Runtime.evaluate', { expression: `${axeSource};undefined` });
  }
  const options = { resultTypes: ['violations'], ...(rules !== undefined && { runOnly: rules }) };
  const { result } = await session.send('Runtime.evaluate', {
    expression: `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
      JSON.stringify(violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html))))`,
    awaitPromise: true,
    returnByValue: true,
  });
  await session.detach();
  return JSON.parse(String(result.value));
}

let axeSource: string | undefined;
