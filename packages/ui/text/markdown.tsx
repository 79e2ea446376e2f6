import type { MarkedToken, Token, Tokens } from 'marked';
import type { ComponentChildren } from 'preact';
import { memo } from 'preact/compat';
import { useMemo } from 'preact/hooks';
import { readMarkdown } from './read-markdown.ts';

export interface MarkdownProps {
  readonly text: string;
  /** Draws a piece of plain text, for example with mentions or searched words. */
  readonly plain?: (text: string) => ComponentChildren;
}

/**
 * Shows Markdown as elements. HTML in it is text, addresses other than of the web and of mail are
 * text too, and pictures are links. While a text grows, only its last block is drawn again.
 */
export function Markdown({ text, plain }: MarkdownProps) {
  const blocks = useMemo(() => readMarkdown(text), [text]);
  return (
    <div class="markdown" dir="auto">
      {blocks.map((block, index) => (
        <Block key={index} raw={block.raw} block={block as MarkedToken} plain={plain} />
      ))}
    </div>
  );
}

type Plain = MarkdownProps['plain'];

interface BlockProps {
  /** The source of the block: the same text is the same block. */
  readonly raw: string;
  readonly block: MarkedToken;
  readonly plain: Plain;
}

const Block = memo(
  ({ block, plain }: BlockProps) => <>{drawn(block, plain)}</>,
  (one, other) => one.raw === other.raw && one.plain === other.plain,
);

function drawn(token: MarkedToken, plain: Plain): ComponentChildren {
  switch (token.type) {
    case 'space':
      return null;
    case 'def':
      return definition(token);
    case 'hr':
      return <hr />;
    case 'code':
      return (
        <pre class="markdown-code" tabIndex={0}>
          {/* Words behind the fence are a line of the code if they are no language. */}
          <code>{/\s/.test(token.lang ?? '') ? `${token.lang}\n${token.text}` : token.text}</code>
        </pre>
      );
    case 'blockquote':
      return <blockquote>{all(token.tokens, plain)}</blockquote>;
    case 'heading':
      return <p class={`markdown-heading markdown-heading-${token.depth}`}>{all(token.tokens, plain)}</p>;
    case 'list':
      return list(token, plain);
    case 'table':
      return table(token, plain);
    case 'paragraph':
      return <p>{all(token.tokens, plain)}</p>;
    case 'br':
      return <br />;
    case 'strong':
      return <strong>{all(token.tokens, plain)}</strong>;
    case 'em':
      return <em>{all(token.tokens, plain)}</em>;
    case 'del':
      return <del>{all(token.tokens, plain)}</del>;
    case 'codespan':
      return <code>{token.text}</code>;
    case 'link':
      return link(token, all(token.tokens, plain));
    case 'image':
      return link(token, token.text);
    case 'text':
      return token.tokens === undefined ? words(token.text, plain) : all(token.tokens, plain);
    case 'escape':
      return token.text;
    default:
      return token.raw;
  }
}

function all(tokens: readonly Token[], plain: Plain): ComponentChildren {
  return tokens.map((token) => drawn(token as MarkedToken, plain));
}

function words(text: string, plain: Plain): ComponentChildren {
  return plain === undefined ? text : plain(text);
}

function list({ ordered, start, items }: Tokens.List, plain: Plain): ComponentChildren {
  const rows = items.map(({ task, checked, tokens }, index) => (
    <li key={index}>
      {task && <input type="checkbox" checked={checked === true} disabled aria-label="Task" />}
      {all(tokens, plain)}
    </li>
  ));
  return ordered ? <ol start={start === '' ? 1 : start}>{rows}</ol> : <ul>{rows}</ul>;
}

function table({ header, rows }: Tokens.Table, plain: Plain): ComponentChildren {
  return (
    <section class="markdown-table" tabIndex={0} aria-label="Table">
      <table>
        <thead>
          <tr>
            {header.map(({ tokens }, index) => (
              <th key={index}>{all(tokens, plain)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map(({ tokens }, index) => (
                <td key={index}>{all(tokens, plain)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Shows a definition (`[name]: https://…`) as it was written, with a link. */
function definition({ raw, href, title }: Tokens.Def): ComponentChildren {
  const [before = '', ...after] = raw.trim().split(href);
  return (
    <p>
      {before}
      {after.length > 0 && link({ href, title: title ?? null, raw: href }, href)}
      {after.join(href)}
    </p>
  );
}

type Address = Pick<Tokens.Link, 'href' | 'raw'> & { readonly title?: string | null };

function link({ href, title, raw }: Address, content: ComponentChildren): ComponentChildren {
  if (!isSafeAddress(href)) return raw;
  return (
    <a href={href} {...(title && { title })} target="_blank" rel="noopener nofollow ugc">
      {content}
    </a>
  );
}

/** Returns whether a link of a text may lead there: to the web, or to a mail program. */
export function isSafeAddress(href: string): boolean {
  if (!URL.canParse(href)) return false;
  return ['http:', 'https:', 'mailto:'].includes(new URL(href).protocol);
}
