import sanitizeHtml from 'sanitize-html';
import { HtmlText } from './html-text.ts';
import { NO_TEXT_TAGS, unescaped } from './mail-html.ts';

/**
 * Returns the text of a page of the web, `url`: its title, links with their absolute targets, and
 * the cells of tables with bars between them. Time and memory have no limit: the caller needs one.
 */
export function pageText(html: string, url: string): string {
  const text = new HtmlText('| ');
  sanitizeHtml(html, {
    allowedTags: [],
    nonTextTags: NO_TEXT_TAGS.filter((name) => name !== 'title'),
    textFilter: (escaped) => {
      text.add(unescaped(escaped));
      return '';
    },
    onOpenTag: (name, { href, ...attributes }) => {
      const target = href === undefined ? {} : { href: URL.parse(href, url)?.href ?? href };
      text.open(name, { ...attributes, ...target });
    },
    onCloseTag: (name) => text.close(name),
  });
  return text.finish();
}
