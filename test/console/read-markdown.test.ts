/** Markdown that is nested far deeper than anybody writes. */

import type { Token } from 'marked';
import t from 'tap';
import { plainLine } from '../../src/platform/ui/plain-line.ts';
import { readMarkdown } from '../../src/platform/ui/read-markdown.ts';

/** The levels of the tokens below one, found without a call for each. */
function depthOf(tokens: readonly Token[]): number {
  let depth = 0;
  for (let level = [...tokens]; level.length > 0; depth += 1) {
    level = level.flatMap((token) => [
      ...('tokens' in token ? (token.tokens ?? []) : []),
      ...('items' in token ? (token.items as Token[]) : []),
    ]);
  }
  return depth;
}

const DEEP: Readonly<Record<string, (levels: number) => string>> = {
  quotes: (levels) => `${'> '.repeat(levels)}x`,
  'quotes without blanks': (levels) => `${'>'.repeat(levels)}x`,
  'quotes of many lines': (levels) =>
    Array.from({ length: levels }, (_, level) => `${'>'.repeat(level + 1)} line`).join('\n'),
  lists: (levels) => Array.from({ length: levels }, (_, level) => `${'  '.repeat(level)}- x`).join('\n'),
  'lists on one line': (levels) => `${'- '.repeat(levels)}x`,
  'lists in quotes': (levels) => `${'> - '.repeat(levels)}x`,
  emphasis: (levels) => `${'*a **b '.repeat(levels)}${'** *'.repeat(levels)}`,
  'emphasis without blanks': (levels) => `${'*'.repeat(levels)}x${'*'.repeat(levels)}`,
  deletions: (levels) => `${'~~a '.repeat(levels)}${'~~'.repeat(levels)}`,
  links: (levels) => `${'['.repeat(levels)}x${'](https://x.example)'.repeat(levels)}`,
  references: (levels) => `${'['.repeat(levels)}x${'][a]'.repeat(levels)}\n\n[a]: https://x.example`,
};

for (const [name, write] of Object.entries(DEEP)) {
  t.test(`${name} are read to some depth, and the rest is text`, async (t) => {
    for (const levels of [1, 10, 19, 25, 250]) {
      const text = write(levels);
      const tokens = readMarkdown(text);
      t.ok(depthOf(tokens) <= 100, `${levels} levels: ${depthOf(tokens)}`);
      t.match(plainLine(text), /\S/, 'its preview has words');
    }
  });
}

t.test('messages of the greatest length do not exhaust the stack', async (t) => {
  for (const text of ['>'.repeat(39_999), '> '.repeat(19_999), '- '.repeat(19_999)]) {
    t.ok(depthOf(readMarkdown(`${text}x`)) <= 100);
  }
});

t.test('what people write is read as before', async (t) => {
  const text =
    '> > twice quoted **with *both* marks**\n\n- one\n  - two\n    - three [a ~~b~~](https://x.example)';
  t.equal(depthOf(readMarkdown(text)), 10);
});
