import { type Fields, fields, idOf, list, text } from '../content/values.ts';
import { markdownLink, mentionOf, type SlackNames, type Translated, translateMrkdwn } from './mrkdwn.ts';

/**
 * Translates the blocks of a message, which `text` only summarizes in newer messages. Returns
 * undefined without blocks, or with a block of unknown kind: `text` then says more.
 */
export function translateBlocks(blocks: readonly unknown[], names: SlackNames): Translated | undefined {
  const mentions: string[] = [];
  const pieces: string[] = [];
  for (const block of blocks) {
    const piece = blockOf(fields(block), names, mentions);
    if (piece === undefined) return undefined;
    if (piece.trim() !== '') pieces.push(piece);
  }
  return pieces.length === 0 ? undefined : { body: pieces.join('\n\n'), mentions };
}

function blockOf(block: Fields, names: SlackNames, mentions: string[]): string | undefined {
  switch (block.type) {
    case 'rich_text':
      return richText(list(block.elements), names, mentions, 0);
    case 'section':
      return [block.text, ...list(block.fields)]
        .map((it) => textOf(it, names, mentions))
        .filter(Boolean)
        .join('\n');
    case 'header': {
      const header = textOf(block.text, names, mentions);
      return header && `**${header}**`;
    }
    case 'context':
      return list(block.elements)
        .map((it) => textOf(it, names, mentions))
        .filter(Boolean)
        .join(' ');
    case 'markdown':
      return text(block.text) ?? '';
    case 'image': {
      const url = text(block.image_url);
      return url === null ? '' : markdownLink(url, text(block.alt_text) ?? 'image');
    }
    case 'divider':
    case 'actions':
    case 'input':
      return '';
    default:
      return undefined;
  }
}

/** Translates a text object, `mrkdwn` or `plain_text`. */
function textOf(value: unknown, names: SlackNames, mentions: string[]): string {
  const { type, text: written } = fields(value);
  if (typeof written !== 'string') return '';
  if (type === 'plain_text') return names.emojis.inText(written);
  const { body, mentions: more } = translateMrkdwn(written, names);
  mentions.push(...more);
  return body;
}

/** Deeper parts than people can write are left out. */
const MAX_DEPTH = 20;

function richText(
  elements: readonly unknown[],
  names: SlackNames,
  mentions: string[],
  depth: number,
): string {
  if (depth > MAX_DEPTH) return '';
  let numbers: number[] = [];
  return elements
    .map((value) => {
      const element = fields(value);
      const inner = list(element.elements);
      if (element.type !== 'rich_text_list') numbers = [];
      switch (element.type) {
        case 'rich_text_preformatted':
          return `\`\`\`\n${plainOf(inner)}\n\`\`\`\n`;
        case 'rich_text_quote':
          return `${inlineOf(inner, names, mentions).replace(/^/gm, '> ')}\n`;
        case 'rich_text_list': {
          const indent = Math.min(Math.max(Number(element.indent) || 0, 0), 8);
          numbers = numbers.slice(0, indent + 1);
          return inner
            .map((item) => {
              numbers[indent] = (numbers[indent] ?? 0) + 1;
              const mark = element.style === 'ordered' ? `${numbers[indent]}.` : '-';
              const content = inlineOf(list(fields(item).elements), names, mentions);
              return `${'  '.repeat(indent)}${mark} ${content.replaceAll('\n', `\n${'  '.repeat(indent + 1)}`)}\n`;
            })
            .join('');
        }
        default:
          return inlineOf(inner, names, mentions);
      }
    })
    .join('')
    .replace(/\n+$/, '');
}

function plainOf(elements: readonly unknown[]): string {
  return elements.map((value) => text(fields(value).text) ?? text(fields(value).url) ?? '').join('');
}

function inlineOf(elements: readonly unknown[], names: SlackNames, mentions: string[]): string {
  return elements.map((value) => styled(fields(value), names, mentions)).join('');
}

function styled(element: Fields, names: SlackNames, mentions: string[]): string {
  const content = inline(element, names, mentions);
  const { bold, italic, strike, code } = fields(element.style);
  const [, before = '', inner = '', after = ''] = /^(\s*)([\s\S]*?)(\s*)$/.exec(content) ?? [];
  if (inner === '') return content;
  let marked = code === true ? `\`${inner}\`` : inner;
  if (italic === true) marked = `_${marked}_`;
  if (bold === true) marked = `**${marked}**`;
  if (strike === true) marked = `~~${marked}~~`;
  return `${before}${marked}${after}`;
}

function inline(element: Fields, names: SlackNames, mentions: string[]): string {
  switch (element.type) {
    case 'link': {
      const url = text(element.url) ?? '';
      const label = text(element.text);
      return label === null || label === url ? url : markdownLink(url, label);
    }
    case 'user': {
      const id = idOf(element.user_id);
      return id === null ? '' : mentionOf(id, names, mentions);
    }
    case 'channel': {
      const id = text(element.channel_id) ?? '';
      return `#${names.channel(id) ?? id}`;
    }
    case 'usergroup':
      return '@group';
    case 'broadcast':
      return `@${text(element.range) ?? 'channel'}`;
    case 'emoji':
      return emojiOf(element, names);
    case 'date':
      return text(element.fallback) ?? '';
    case 'color':
      return text(element.value) ?? '';
    default:
      return text(element.text) ?? text(element.fallback) ?? '';
  }
}

function emojiOf(element: Fields, names: SlackNames): string {
  const name = text(element.name) ?? '';
  const tone = typeof element.skin_tone === 'number' ? `::skin-tone-${element.skin_tone}` : '';
  return names.emojis.find(`${name}${tone}`) ?? `:${name}:`;
}
