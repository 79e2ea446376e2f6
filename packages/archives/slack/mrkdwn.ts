import type { EmojiNames } from '../content/emoji-names.ts';

/** The names in texts of Slack. */
export interface SlackNames {
  readonly emojis: EmojiNames;
  /** Returns the name after the `@`, by id. */
  person(id: string): string | undefined;
  /** Returns the name after the `#`, by id. */
  channel(id: string): string | undefined;
}

/** A text in Markdown, with the ids of the people whom it mentions. */
export interface Translated {
  readonly body: string;
  readonly mentions: readonly string[];
}

/**
 * Translates the text of a message: `<@U1>`, `<#C1|name>`, `<!here>`, `<url|label>`, entities,
 * names of emojis, and the marks of bold and struck text. Code stays as it is.
 */
export function translateMrkdwn(text: string, names: SlackNames): Translated {
  if (!MARKED.test(text)) return { body: text, mentions: [] };
  const mentions: string[] = [];
  const body = text
    .split(CODE)
    .map((piece, index) => (index % 2 === 1 ? codeOf(piece) : proseOf(piece, names, mentions)))
    .join('');
  return { body, mentions };
}

/** Most messages have nothing to translate. */
const MARKED = /[<&*~:`\uE000\uE001]/;
const CODE = /(```[\s\S]*?```|`[^`\n]+`)/;
/** Between angle brackets: a mention, a link or a command. */
const TOKEN = /<([^<>\s][^<>\n]{0,3000})>/g;

function codeOf(piece: string): string {
  return decodeEntities(piece.replace(TOKEN, (_, token: string) => linkOf(token).label));
}

function proseOf(piece: string, names: SlackNames, mentions: string[]): string {
  const tokens: string[] = [];
  const held = piece.replaceAll(HELD, '').replace(TOKEN, (written, token: string) => {
    tokens.push(tokenOf(token, names, mentions) ?? written);
    return `\uE000${tokens.length - 1}\uE001`;
  });
  const marked = held
    .replace(/(^|[^\p{L}\p{N}*])\*(?=\S)([^*\n]*[^*\s])\*(?![\p{L}\p{N}*])/gu, '$1**$2**')
    .replace(/(^|[^\p{L}\p{N}~])~(?=\S)([^~\n]*[^~\s])~(?![\p{L}\p{N}~])/gu, '$1~~$2~~')
    .replace(/^&gt;&gt;&gt;\s?([\s\S]*)$/m, (_, quoted: string) => quoted.replace(/^/gm, '> '))
    .replace(/^&gt;/gm, '>');
  return decodeEntities(names.emojis.inText(marked)).replace(
    /\uE000(\d+)\uE001/g,
    (_, index: string) => tokens[Number(index)] ?? '',
  );
}

/** Characters for private use hold the places of tokens. */
const HELD = /[\uE000\uE001]/g;

function tokenOf(token: string, names: SlackNames, mentions: string[]): string | undefined {
  const [id = '', label] = divided(token.slice(1));
  switch (token[0]) {
    case '@':
      if (!/^[UWB][A-Z0-9]+$/.test(id)) return `@${decodeEntities(label ?? id)}`;
      return mentionOf(id, names, mentions, label);
    case '#':
      return `#${names.channel(id) ?? decodeEntities(label || id)}`;
    case '!':
      return commandOf(id, label);
    default: {
      const { url, label: shown } = linkOf(token);
      return shown === url || shown === '' ? url : markdownLink(url, shown);
    }
  }
}

/** Returns the mention of a person and adds it to `mentions`. */
export function mentionOf(id: string, names: SlackNames, mentions: string[], label?: string): string {
  mentions.push(id);
  return `@${names.person(id) ?? (decodeEntities(label ?? '') || id)}`;
}

function commandOf(command: string, label: string | undefined): string {
  if (command === 'here' || command === 'channel' || command === 'everyone') return `@${command}`;
  if (command.startsWith('subteam^')) return decodeEntities(label ?? '@group');
  // `<!date^1392734382^{date}|14 Feb>`: the label is shown for unknown commands.
  return decodeEntities(label ?? command.split('^')[0]!);
}

function linkOf(token: string): { readonly url: string; readonly label: string } {
  const [target = '', label] = divided(token);
  const url = decodeEntities(target).replace(/^(mailto|tel):/, '');
  return { url, label: decodeEntities(label ?? url) };
}

function divided(token: string): [string, string?] {
  const at = token.indexOf('|');
  return at < 0 ? [token] : [token.slice(0, at), token.slice(at + 1)];
}

export function markdownLink(url: string, label: string): string {
  const safe = url.replace(/[()\s]/g, (character) =>
    encodeURIComponent(character).replace('(', '%28').replace(')', '%29'),
  );
  return `[${label.replace(/[[\]]/g, '\\$&')}](${safe})`;
}

/** Decodes the three entities that Slack writes. */
function decodeEntities(text: string): string {
  return text.includes('&')
    ? text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
    : text;
}
