import { command, type Html } from '../html.ts';

/** A page that leads through a task, with examples that test/http/guides.test.ts runs against a server. */
export interface Guide {
  /** The last part of its path. */
  readonly slug: string;
  readonly title: string;
  /** One sentence, for the list of guides. */
  readonly summary: string;
  readonly main: Html;
}

/**
 * An example: the `js` of a page are one module, its `sh` one script. The test puts the address of its server in place of
 * https://chat.example.com, and ids of its demo account in place of `'acc_…'` and the like.
 */
export function example(language: 'js' | 'sh', text: string): Html {
  return command(text.trim(), `language-${language}`);
}
