import type { EmojiNames } from './emoji-names.ts';

/** A piece of prose that the source writes in its own way, such as a mention. */
export interface Notation {
  readonly pattern: RegExp;
  /** Returns its replacement, or undefined where it stays. */
  readonly write: (groups: readonly (string | undefined)[]) => string | undefined;
}

/**
 * Translates a text that is Markdown already: the notations of its source and the names of emojis,
 * which mean nothing within code and URLs.
 */
export function translateMarkdown(text: string, notations: readonly Notation[], emojis: EmojiNames): string {
  if (!/[@#~:]/.test(text)) return text;
  return text
    .split(CODE_OR_URL)
    .map((piece, index) => {
      if (index % 2 === 1) return piece;
      let prose = piece;
      for (const { pattern, write } of notations) {
        prose = prose.replace(
          pattern,
          (written: string, ...groups: (string | undefined)[]) => write(groups) ?? written,
        );
      }
      return emojis.inText(prose);
    })
    .join('');
}

const CODE_OR_URL = /(```[\s\S]*?```|~~~[\s\S]*?~~~|`[^`\n]+`|\bhttps?:\/\/[^\s<>()]+)/;
