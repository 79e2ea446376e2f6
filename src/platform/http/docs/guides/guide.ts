import { CURRENT_VERSION } from '../../../../contract/protocol/versions.ts';
import { command, type Html } from '../html.ts';

/**
 * A page that leads through a task, with examples that test/http/guides.test.ts runs against a
 * server.
 */
export interface Guide {
  /** The last part of its path. */
  readonly slug: string;
  readonly title: string;
  /** One sentence, for the list of guides. */
  readonly summary: string;
  readonly main: Html;
}

/**
 * An example: the `js` of a page are one module, its `sh` one script. The test puts the address of
 * its server in place of https://chat.example.com, and ids of its demo account in place of
 * `'acc_…'` and the like.
 */
export function example(language: 'js' | 'sh', text: string): Html {
  return command(text.trim(), `language-${language}`);
}

/** The function with which a backend calls REST in the `js` of a page, which has it once. */
export const CALL = `const call = async (method, path, body) => {
  const answer = await fetch(\`https://chat.example.com\${path}\`, {
    method,
    headers: {
      Authorization: 'Bearer parley_…', // from your secrets
      'Service-Version': '${CURRENT_VERSION}',
      'Service-Account': 'acc_…',
      'Content-Type': 'application/json',
    },
    body: body && JSON.stringify(body),
  });
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.error.message);
  return value;
};`;
