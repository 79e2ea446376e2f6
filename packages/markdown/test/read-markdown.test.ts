/** Markdown that is nested far deeper than anybody writes, and of which nothing may be lost. */

import t from 'tap';
import { Random } from '../../../test/support/random.ts';
import type { Block, Inline } from '../parts.ts';
import { plainLine } from '../plain-line.ts';
import { readMarkdown } from '../read-markdown.ts';

type Part = Block | Inline;

/** Returns the parts right in a part. */
function within(part: Part): readonly Part[] {
  if ('inner' in part) return part.inner;
  if (part.type === 'quote') return part.blocks;
  if (part.type === 'list') return part.items.flatMap(({ blocks }) => blocks);
  return part.type === 'table' ? part.rows.flat(2) : [];
}

/** Returns the levels of the parts, found without a call for each. */
function depthOf(parts: readonly Part[]): number {
  let depth = 0;
  for (let level = parts; level.length > 0; depth += 1) level = level.flatMap(within);
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
  t.equal(depthOf(readMarkdown(text)), 7);
});

const LINES = [
  '[draft]: https://example.com/q3',
  '[x]: y',
  '[x]: <https://z.example> "Title"',
  'See [1] and [x][1].',
  '[1]: https://one.example',
  '[constructor]: https://x.example',
  '[](https://x.example)',
  '![ ](a.png)',
  '[a](https://x.example "b c")',
  '[a](javascript:d)',
  '#',
  '# a',
  '##### ',
  '> ',
  '> # b',
  '- ',
  '-',
  '1.',
  '1. a',
  '2) b',
  '- [ ]',
  '- [x] c',
  '---',
  '***',
  '===',
  '|a|b|',
  '|-|-|',
  '|1|2|3|',
  '|d|',
  '```',
  '~~~',
  '``` hello world',
  '```js',
  '`` ` ``',
  '\\',
  'a\\*b',
  '*',
  '**a**',
  '_b _',
  '~~c~~',
  '<b>d</b>',
  '<!-- e -->',
  '&amp; f',
  '    g',
  'https://h.example/?i=1',
  '<j@k.example>',
  'l\u00a0m',
  '\t',
  '[',
  ']()',
  '[]',
  '[^1]',
  '[^1]: n',
];
const BETWEEN = ['\n', '\n\n', ' ', ''];

/** Returns what parts show: their words, and the addresses and titles behind them. */
function shown(parts: readonly Part[]): string {
  return parts
    .map((part) => {
      const {
        href = '',
        title = '',
        raw = '',
      } = part as Readonly<Partial<Record<'href' | 'title' | 'raw', string>>>;
      // The language of a block of code is not shown.
      const words =
        part.type === 'code'
          ? `${part.text} ${raw}`
          : 'text' in part
            ? part.text
            : part.type === 'break'
              ? ''
              : shown(within(part));
      // A task that is done has a mark in place of its letter.
      const done = part.type === 'list' ? part.items.filter(({ isDone }) => isDone).map(() => 'x') : [];
      return [words, href, title, ...done].join(' ');
    })
    .join(' ');
}

t.test('no text is empty, and none loses a letter', async (t) => {
  const random = new Random(1815);
  const letters = (text: string) => text.match(/\p{L}/gu)?.length ?? 0;
  const texts = [...LINES];
  for (let made = 0; made < 3_000; made++) {
    const parts = Array.from(
      { length: 2 + random.below(4) },
      () => random.pick(LINES) + random.pick(BETWEEN),
    );
    texts.push(parts.join(''));
  }
  const wrong = texts.filter((text) => {
    const all = shown(readMarkdown(text));
    return letters(all) < letters(text) || (/\S/.test(text) && plainLine(text) === '');
  });
  t.strictSame(wrong.slice(0, 5), [], `${wrong.length} of ${texts.length}`);
  for (const text of ['[draft]: https://example.com/q3', '[x]: y', '#', '---'])
    t.equal(plainLine(text), text);
  for (const text of ['[](https://x.example)', 'See [1].']) t.equal(plainLine(text), text);
  t.equal(plainLine('See [a][1].\n\n[1]: https://x.example'), 'See a. [1]: https://x.example');
});
