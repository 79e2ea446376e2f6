import { join } from 'node:path';
import type { BrowserContext, Frame, Page } from 'playwright-core';
import { until } from './until.ts';

/** Collects what hostile texts have run or made in pages of a browser. It must stay empty. */
export class XssWatch {
  readonly ran: string[] = [];
  /** Number of texts that were looked for and found. */
  looks = 0;
  readonly #frame: string;

  private constructor(frame: string) {
    this.#frame = frame;
  }

  /**
   * Watches all pages of the browser that are opened from now on. `own`: the origins that they may
   * speak to. `frame`: the beginning of the address of their only permitted frame.
   */
  static async on(context: BrowserContext, own: readonly string[], frame = ''): Promise<XssWatch> {
    const watch = new XssWatch(frame);
    const isOwn = (url: string) =>
      own.some((origin) => url.startsWith(`${origin}/`)) || /^(about:blank|blob:|data:image)/.test(url);
    await context.exposeBinding('xssRan', (_, what: string) => void watch.ran.push(what));
    await context.addInitScript({ path: join(import.meta.dirname, 'xss-page.js') });
    context.on('request', (request) => {
      if (!isOwn(request.url())) watch.ran.push(`a request to ${request.url()}`);
    });
    // It is reported as a request, and was never sent.
    context.on('requestfailed', (request) => {
      const at = watch.ran.indexOf(`a request to ${request.url()}`);
      if (at >= 0 && request.failure()?.errorText === 'csp') watch.ran.splice(at, 1);
    });
    context.on('page', async (page) => {
      if ((await page.opener()) !== null) watch.ran.push(`a window at ${page.url()}`);
    });
    context.on('page', (page) => {
      page.on('dialog', (dialog) => {
        watch.ran.push(`a dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      page.on('framenavigated', (one) => {
        if (!isOwn(one.url())) watch.ran.push(`a page at ${one.url()}`);
      });
    });
    return watch;
  }

  /** Looks at the page once it shows each text this many times. */
  async look(page: Page | Frame, texts: readonly string[], times = 1): Promise<void> {
    let missing: readonly string[] = texts;
    await until(
      async () => {
        const seen = await seenIn(page, texts);
        missing = texts.filter((_, index) => seen[index]! < times);
        return missing.length === 0;
      },
      { what: () => `${missing.length} of ${texts.length} texts are shown, such as ${missing[0]}` },
    );
    await this.#note(page);
    this.looks += texts.length * times;
  }

  /**
   * Scrolls a box by parts, down or up, until each of the texts was shown, and looks at each part.
   */
  async lookThrough(page: Page, box: string, texts: readonly string[], by: 1 | -1 = 1): Promise<void> {
    let left: readonly string[] = texts;
    await until(
      async () => {
        const seen = await seenIn(page, left);
        await this.#note(page);
        left = left.filter((_, index) => seen[index] === 0);
        await page.evaluate(`xss.scroll(${JSON.stringify(box)}, ${by})`);
        return left.length === 0;
      },
      { what: () => `${left.length} of ${texts.length} texts are shown, such as ${left[0]}` },
    );
    this.looks += texts.length;
  }

  /**
   * Tries to run a text as a script in the page, in each way that markup could. Resolves, when
   * every refusal was reported, with the result of each way. Throws if a script has run.
   */
  async inject(page: Page | Frame): Promise<Record<string, string>> {
    const answers = (await page.evaluate('xss.inject()')) as Record<string, string>;
    await until(() => this.ran.some((what) => what.startsWith('policy: ')), { what: 'a refusal' });
    // The frame of a `srcdoc` has the policy of the page around it.
    const isRefusal = (what: string) => what.startsWith('policy: ') || what === 'a page at about:srcdoc';
    await until(() => this.ran.every(isRefusal), { what: () => `nothing runs: ${this.ran.join()}` });
    this.take();
    return answers;
  }

  async #note(page: Page | Frame): Promise<void> {
    const made = (await page.evaluate(`xss.made(${JSON.stringify(this.#frame)})`)) as string[];
    this.ran.push(...made.map((one) => `${one} in ${page.url()}`));
  }

  /** Returns what has run so far, and forgets it. */
  take(): string[] {
    return [...new Set(this.ran.splice(0))];
  }
}

function seenIn(page: Page | Frame, texts: readonly string[]): Promise<number[]> {
  return page.evaluate(`xss.seen(${JSON.stringify(texts)})`) as Promise<number[]>;
}
