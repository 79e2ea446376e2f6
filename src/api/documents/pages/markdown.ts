import { command, Html, html, type Part, table } from './html.ts';

/** Values of the places `{{name}}` in a page. Texts are Markdown. */
export type Values = Readonly<Record<string, Part>>;

/**
 * Returns our own Markdown as HTML: headings have ids, code has a copy button, tables scroll. HTML
 * in it is not escaped. Throws if a place has no value. Loads the library at the first use.
 */
export async function renderMarkdown(text: string, values: Values): Promise<Html> {
  const { Marked } = await import('marked');
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        const id = text
          .toLowerCase()
          .replace(/[^\w]+/g, '-')
          .replace(/^-|-$/g, '');
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      code: ({ text, lang = '' }) => `${command(text, `language-${lang}`).text}\n`,
      table({ header, rows }) {
        const cells = (row: typeof header) =>
          row.map(({ tokens }) => new Html(this.parser.parseInline(tokens)));
        return `${
          table(
            header.map(({ text }) => text),
            rows.map(cells),
          ).text
        }\n`;
      },
    },
  });
  return new Html(await marked.parse(filled(text, values)));
}

function filled(text: string, values: Values): string {
  return text.replace(/\{\{(\w+)\}\}/g, (place, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`a page has ${place}, which has no value`);
    if (typeof value === 'string') return value;
    return html`${typeof value === 'number' ? value.toLocaleString('en') : value}`.text;
  });
}
