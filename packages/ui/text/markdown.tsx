import type { Inline, LinkPart, ListBlock, Block as TextBlock } from '@parley/markdown/parts.ts';
import { readMarkdown, readPlain } from '@parley/markdown/read-markdown.ts';
import type { ComponentChildren } from 'preact';
import { memo } from 'preact/compat';
import { useMemo } from 'preact/hooks';
import { uiTexts } from '../texts/ui-texts.ts';

export interface MarkdownProps {
  readonly text: string;
  /** Whether the text is no Markdown: only its addresses become links. */
  readonly isPlain?: boolean;
  /** Draws a piece of text, for example with mentions or searched words. */
  readonly words?: (text: string) => ComponentChildren;
}

/**
 * Shows Markdown as elements. HTML in it is text, and pictures are links. While a text grows, only
 * its last block is drawn again.
 */
export function Markdown({ text, isPlain = false, words }: MarkdownProps) {
  const blocks = useMemo(() => (isPlain ? readPlain(text) : readMarkdown(text)), [text, isPlain]);
  return (
    <div class="markdown" dir="auto">
      {blocks.map((block, index) => (
        <Block key={index} block={block} words={words} />
      ))}
    </div>
  );
}

type Words = MarkdownProps['words'];

interface BlockProps {
  readonly block: TextBlock;
  readonly words: Words;
}

const Block = memo(
  ({ block, words }: BlockProps) => <>{drawn(block, words)}</>,
  (one, other) =>
    one.block.raw === other.block.raw && one.block.type === other.block.type && one.words === other.words,
);

function drawn(block: TextBlock, words: Words): ComponentChildren {
  switch (block.type) {
    case 'gap':
      return null;
    case 'rule':
      return <hr />;
    case 'code':
      return (
        <pre class="markdown-code" tabIndex={0}>
          <code>{block.text}</code>
        </pre>
      );
    case 'quote':
      return <blockquote>{all(block.blocks, words)}</blockquote>;
    case 'heading':
      return <p class={`markdown-heading markdown-heading-${block.level}`}>{inlines(block.inner, words)}</p>;
    case 'list':
      return list(block, words);
    case 'table':
      return table(block.rows, words);
    case 'paragraph':
      return <p>{inlines(block.inner, words)}</p>;
    case 'words':
      return inlines(block.inner, words);
  }
}

function all(blocks: readonly TextBlock[], words: Words): ComponentChildren {
  return blocks.map((block) => drawn(block, words));
}

function inlines(parts: readonly Inline[], words: Words): ComponentChildren {
  return parts.map((part) => inline(part, words));
}

function inline(part: Inline, words: Words): ComponentChildren {
  switch (part.type) {
    case 'text':
      return words === undefined || part.isLiteral ? part.text : words(part.text);
    case 'break':
      return <br />;
    case 'code':
      return <code>{part.text}</code>;
    case 'strong':
      return <strong>{inlines(part.inner, words)}</strong>;
    case 'em':
      return <em>{inlines(part.inner, words)}</em>;
    case 'del':
      return <del>{inlines(part.inner, words)}</del>;
    case 'link':
      return link(part, words);
  }
}

function list({ items }: ListBlock, words: Words): ComponentChildren {
  const rows = items.map(({ number, isDone, blocks }, index) => (
    <li key={index} {...(number !== null && { value: number })}>
      {isDone !== null && (
        <input type="checkbox" checked={isDone} disabled aria-label={uiTexts.markdown.task} />
      )}
      {all(blocks, words)}
    </li>
  ));
  return items[0]?.number == null ? <ul>{rows}</ul> : <ol>{rows}</ol>;
}

function table(
  [head = [], ...rows]: readonly (readonly (readonly Inline[])[])[],
  words: Words,
): ComponentChildren {
  return (
    <section class="markdown-table" tabIndex={0} aria-label={uiTexts.markdown.table}>
      <table>
        <thead>
          <tr>
            {head.map((cell, index) => (
              <th key={index}>{inlines(cell, words)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, index) => (
                <td key={index}>{inlines(cell, words)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function link({ href, title, inner }: LinkPart, words: Words): ComponentChildren {
  return (
    <a href={href} {...(title !== null && { title })} target="_blank" rel="noopener nofollow ugc">
      {inlines(inner, words)}
    </a>
  );
}
