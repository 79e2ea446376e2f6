import { fold } from '@parley/protocol/folding.ts';
import { uiTexts } from '../texts/ui-texts.ts';

/** An emoji with what people call it. */
export interface Emoji {
  readonly emoji: string;
  /** Names for `:name:`, the usual one first. */
  readonly names: readonly string[];
  readonly tags: readonly string[];
  readonly description: string;
  readonly category: string;
}

let list: Promise<readonly Emoji[]> | undefined;

/**
 * Returns every emoji in the order of keyboards, described in the language of the page. The data is
 * loaded by the first call. Names, which people write as `:name:`, and English tags are the same in
 * every language.
 */
export function allEmoji(): Promise<readonly Emoji[]> {
  list ??= load().catch((error: unknown) => {
    list = undefined;
    throw error;
  });
  return list;
}

async function load(): Promise<readonly Emoji[]> {
  const [{ gemoji }, words] = await Promise.all([import('gemoji'), WORDS[uiTexts.choices.emojiLanguage]?.()]);
  if (words === undefined) return gemoji;
  const wordsOf = new Map(words.default.map((one) => [plainOf(one.unicode), one]));
  return gemoji.map((one) => {
    const { label = one.description, tags = [] } = wordsOf.get(plainOf(one.emoji)) ?? {};
    return { ...one, description: label, tags: [...one.tags, ...tags, one.description] };
  });
}

interface EmojiWords {
  readonly unicode: string;
  readonly label: string;
  readonly tags?: readonly string[];
}

/** The words for emoji in languages that are not English. */
const WORDS: Readonly<Record<string, () => Promise<{ readonly default: readonly EmojiWords[] }>>> = {
  de: () => import('emojibase-data/de/compact.json', { with: { type: 'json' } }),
};

/** The selector of the coloured form is in one list where the other has none. */
function plainOf(emoji: string): string {
  return emoji.replaceAll('\uFE0F', '');
}

/** Returns the emoji that words name: first by the beginning of a name, then by any word. */
export function emojiNamed(words: string, all: readonly Emoji[], most = 60): readonly Emoji[] {
  const asked = fold(words).trim().replaceAll(/\s+/g, '_');
  if (asked === '') return all;
  const ranked: Emoji[][] = [[], [], []];
  for (const emoji of all) ranked[rankOf(emoji, asked)]?.push(emoji);
  return ranked.flat().slice(0, most);
}

/** Returns 0 for the nearest, and 3 for an emoji that is not meant. */
function rankOf({ names, tags, description }: Emoji, asked: string): number {
  if (names.includes(asked)) return 0;
  if (names.some((name) => name.startsWith(asked))) return 1;
  const words = [...names, ...tags, description].map((word) => fold(word).replaceAll(' ', '_'));
  return words.some((word) => word.split('_').some((_, at, all) => all.slice(at).join('_').startsWith(asked)))
    ? 2
    : 3;
}
