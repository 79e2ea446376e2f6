import { command, Html, table } from '../html.ts';

/**
 * Returns our own Markdown as HTML: headings have ids, code has a button that copies it, and tables
 * can be scrolled. HTML within it is not escaped. The library is loaded by the first page that
 * needs it.
 */
export async function renderMarkdown(text: string): Promise<Html> {
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
  return new Html(await marked.parse(text));
}
