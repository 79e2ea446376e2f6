import type { Locator, Page } from 'playwright-core';

/**
 * Works a page as a person does, and counts clicks and keys. Text that is written does not count.
 */
export class Hand {
  readonly page: Page;
  count = 0;

  constructor(page: Page) {
    this.page = page;
  }

  async click(target: Locator): Promise<void> {
    await target.click();
    this.count += 1;
  }

  async press(key: string): Promise<void> {
    await this.page.keyboard.press(key);
    this.count += 1;
  }

  /** Writes into the element with the focus, which has to be a field. */
  async write(text: string): Promise<void> {
    await this.page.locator('input:focus, textarea:focus').waitFor();
    await this.page.keyboard.type(text);
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole('button', { name, exact: true });
  }
}
