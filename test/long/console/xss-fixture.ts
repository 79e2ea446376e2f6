import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { type CallOptions, callsAt, startTestApp, type TestApp } from '../../support/app.ts';
import { ConsoleBrowser } from '../../support/console-page.ts';
import type { Teardown } from '../../support/teardown.ts';
import { until } from '../../support/until.ts';
import { XssWatch } from '../../support/xss-watch.ts';

/** A server, and one watched page of the console as ada. */
export class XssConsole {
  readonly app: TestApp;
  readonly page: Page;
  readonly watch: XssWatch;
  readonly #browser: ConsoleBrowser;

  private constructor(app: TestApp, browser: ConsoleBrowser, page: Page, watch: XssWatch) {
    this.app = app;
    this.#browser = browser;
    this.page = page;
    this.watch = watch;
  }

  /** `frame`: the beginning of the address of the page's only permitted frame. */
  static async start(
    t: Teardown,
    env: Readonly<Record<string, string>> = {},
    frame = '',
  ): Promise<XssConsole> {
    const app = await startTestApp(t, { PARLEY_FETCH_ALLOW: '127.0.0.1', ...env });
    const browser = await ConsoleBrowser.start(t, app.baseUrl);
    const watch = await XssWatch.on(browser.context, [app.baseUrl], frame);
    return new XssConsole(app, browser, await browser.open('ada'), watch);
  }

  /** A call that must succeed: by the key of the account, unless the options say otherwise. */
  async ok<Body>(method: string, path: string, options: CallOptions = {}): Promise<Body> {
    const { call } = callsAt(this.app, NEWEST_VERSION);
    const { status, body, text } = await call<Body>(method, path, options);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
    return body;
  }

  /** Shows a place of the console, without loading the page again. */
  go(path: string): Promise<void> {
    return this.#browser.go(this.page, path);
  }

  /** Loads every page of the list in the main part. */
  async showAll(): Promise<void> {
    const main = this.page.locator('#main');
    const more = main.getByRole('button', { name: 'Show more', exact: true });
    await main.getByRole('table').or(main.locator('li')).first().waitFor();
    while ((await more.count()) > 0) {
      const rows = await main.locator(':is(tr, li)').count();
      await more.click();
      await until(async () => (await main.locator(':is(tr, li)').count()) > rows, { what: 'more rows' });
    }
  }

  /** Has the server's answers to a path changed on their way to the page. */
  async changeAnswers<Answer>(path: string, change: (answer: Answer) => object): Promise<void> {
    await this.page.route(`**${path}`, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: change((await response.json()) as Answer) });
    });
  }

  nothingRan(t: Test): void {
    t.strictSame(this.watch.take(), []);
  }
}

/** Calls the function for each, some at a time, and resolves with what it returned, in order. */
export async function each<T, R>(
  all: readonly T[],
  act: (one: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  for (let from = 0; from < all.length; from += AT_ONCE) {
    const some = all.slice(from, from + AT_ONCE);
    results.push(...(await Promise.all(some.map((one, index) => act(one, from + index)))));
  }
  return results;
}

const AT_ONCE = 12;
