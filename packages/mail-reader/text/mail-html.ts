import sanitizeHtml from 'sanitize-html';
import { cleanLine, cleanText } from './clean-text.ts';
import { HtmlText, wordsOf } from './html-text.ts';

export interface ReadHtml {
  /** Free of scripts, forms, styles that leave their place, and all external resources. */
  readonly html: string;
  readonly text: string;
  /** Whether the HTML was too large, so that only its text is kept. */
  readonly isDamaged: boolean;
}

/**
 * Sanitizes the HTML of a mail and reads its text in one pass, so that both are of the same
 * document. `pictures` maps Content-IDs to positions of attachments
 * (docs/contract.md#html-of-a-mail describes the result).
 */
export function readHtml(source: string, pictures: ReadonlyMap<string, number>): ReadHtml {
  const clean = withTags(cleanText(source));
  if (isMadeOfTags(clean)) {
    const text = cleanLine(clean.replace(/<[^<>]*(>|$)/g, ' '));
    return { html: textAsHtml(text), text, isDamaged: true };
  }
  const text = new HtmlText();
  const html = sanitizeHtml(clean, {
    ...RULES,
    transformTags: {
      a: (tagName, { href = '', title }) => ({
        tagName,
        attribs: {
          ...given({ href: linkOf(href), title }),
          target: '_blank',
          rel: 'noopener noreferrer nofollow',
        },
      }),
      img: (tagName, { src = '', alt, width, height, style }) => ({
        tagName,
        attribs: { ...given({ alt, width, height, style }), ...pictureOf(src, pictures) },
      }),
    },
    textFilter: (escaped) => {
      text.add(unescaped(escaped));
      return escaped;
    },
    onOpenTag: (name, attributes) => text.open(name, attributes),
    onCloseTag: (name) => text.close(name),
  });
  return { html, text: text.finish(), isDamaged: false };
}

/** Keeps the lines of a text that is called HTML and has no tag. */
function withTags(source: string): string {
  return /<[a-z!/?]/i.test(source) ? source : `<pre style="white-space:pre-wrap">${source}</pre>`;
}

/** Returns the text that the sanitizer has escaped. */
export function unescaped(text: string): string {
  return text.replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&amp;/g, '&');
}

/** Returns the same text as HTML. */
export function textAsHtml(text: string): string {
  const escaped = text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
  return `<div style="white-space:pre-wrap">${escaped}</div>`;
}

const COLOR = [/^#[0-9a-f]{3,8}$/i, /^rgba?\([\d\s.,%]{1,40}\)$/i, /^[a-z]{1,30}$/i];
const LENGTHS = [
  /^(\d{1,4}(\.\d{1,4})?(px|pt|em|rem|%)?|auto)(\s+(\d{1,4}(\.\d{1,4})?(px|pt|em|rem|%)?|auto)){0,3}$/i,
];
/** Without parentheses, and so without URLs. */
const WORDS = [/^[\w\s#.,%-]{1,100}$/];

/** Elements whose text is not shown. */
export const NO_TEXT_TAGS = wordsOf(`
    script style textarea option select xmp title noscript iframe object embed applet svg math
    template noframes noembed`);

const RULES: sanitizeHtml.IOptions = {
  allowedTags: wordsOf(`
    a abbr address article b bdi bdo big blockquote br caption center cite code col colgroup dd del
    dfn div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li
    main mark ol p pre q s samp section small span strike strong sub sup table tbody td tfoot th
    thead time tr tt u ul var wbr`),
  nonTextTags: NO_TEXT_TAGS,
  allowedAttributes: {
    '*': ['style', 'dir', 'lang', 'title', 'align', 'valign'],
    a: ['href', 'target', 'rel'],
    img: ['src', 'alt', 'width', 'height', 'data-attachment', 'data-remote-src'],
    font: ['color', 'size', 'face'],
    table: ['width', 'height', 'border', 'cellpadding', 'cellspacing', 'bgcolor'],
    tr: ['bgcolor', 'height'],
    td: ['width', 'height', 'colspan', 'rowspan', 'bgcolor', 'nowrap'],
    th: ['width', 'height', 'colspan', 'rowspan', 'bgcolor', 'nowrap', 'scope'],
    col: ['width', 'span'],
    colgroup: ['width', 'span'],
    ol: ['start', 'type', 'reversed'],
    li: ['value'],
    time: ['datetime'],
  },
  allowedStyles: {
    '*': {
      color: COLOR,
      'background-color': COLOR,
      background: COLOR,
      'font-size': [/^\d{1,2}(\.\d{1,4})?(px|pt|em|rem)$/i, /^\d{1,3}%$/, /^[a-z-]{1,10}$/i],
      'font-weight': WORDS,
      'font-style': WORDS,
      'font-family': [/^[\w\s"',-]{1,300}$/],
      'text-align': WORDS,
      'text-decoration': WORDS,
      'text-transform': WORDS,
      'line-height': LENGTHS,
      'white-space': WORDS,
      'vertical-align': WORDS,
      'list-style-type': WORDS,
      'border-collapse': WORDS,
      ...sides('padding', LENGTHS),
      ...sides('margin', LENGTHS),
      ...sides('border', WORDS),
      'border-radius': LENGTHS,
      width: LENGTHS,
      'max-width': LENGTHS,
      height: LENGTHS,
      display: [/^(none|block|inline|inline-block|table|table-row|table-cell)$/i],
    },
  },
  allowedSchemes: ['http', 'https', 'mailto', 'tel'],
  allowedSchemesByTag: { img: ['data'] },
  allowProtocolRelative: false,
  // Nested quotes. Deeper tags are removed, and their text stays.
  nestingLimit: 250,
};

function sides(property: string, patterns: RegExp[]): Record<string, RegExp[]> {
  const names = ['', '-top', '-right', '-bottom', '-left'].map((side) => property + side);
  return Object.fromEntries(names.map((name) => [name, patterns]));
}

/** Refuses relative links, which lead to the page with the mail, and schemes for programs. */
function linkOf(href: string): string | undefined {
  const url = URL.parse(href);
  return url !== null && LINKED.has(url.protocol) ? url.href : undefined;
}

const LINKED = new Set(['http:', 'https:', 'mailto:', 'tel:']);

/** Names external pictures unloaded: they tell senders when and where a mail is read. */
function pictureOf(src: string, pictures: ReadonlyMap<string, number>): Record<string, string> {
  const source = src.trim();
  if (/^cid:/i.test(source)) {
    const place = pictures.get(decodedId(source.slice('cid:'.length)));
    return place === undefined ? {} : { 'data-attachment': String(place) };
  }
  if (/^data:image\/(png|jpe?g|gif|webp);base64,/i.test(source)) return { src: source };
  const url = URL.parse(source.startsWith('//') ? `https:${source}` : source);
  return url !== null && /^https?:$/.test(url.protocol) ? { 'data-remote-src': url.href } : {};
}

function decodedId(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

function given(attributes: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const entries = Object.entries(attributes).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return Object.fromEntries(entries);
}

/**
 * Every tag takes memory, and parsers compare an end tag with all open elements. Long threads have
 * about ten thousand tags, nested in hundreds; a mail could have a hundred thousand of either.
 */
function isMadeOfTags(html: string): boolean {
  let depth = 0;
  let tags = 0;
  for (const [, slash, name = ''] of html.matchAll(/<(\/?)([a-z][a-z0-9]{0,20})/gi)) {
    tags += 1;
    if (tags > MAX_TAGS) return true;
    if (VOID_TAGS.has(name.toLowerCase())) continue;
    depth += slash === '' ? 1 : -1;
    if (depth > MAX_OPEN_TAGS) return true;
  }
  return false;
}

const MAX_TAGS = 40_000;
const MAX_OPEN_TAGS = 2_000;
/** Tags without an end tag, or whose end tag is often omitted. */
const VOID_TAGS = new Set(wordsOf('br img hr input meta link col area base wbr p li td tr th'));
