import { fold } from '@parley/protocol/folding.ts';

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

/** Returns every emoji in the order of keyboards. Its data is loaded when it is called first. */
export function allEmoji(): Promise<readonly Emoji[]> {
  list ??= import('gemoji').then(
    ({ gemoji }) => gemoji,
    (error: unknown) => {
      list = undefined;
      throw error;
    },
  );
  return list;
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
