import type { Asked } from '@parley/client/writing/mention-words.ts';
import type { Choice } from '@parley/ui/choices/choice-line.tsx';
import { allEmoji, type Emoji, emojiNamed } from '@parley/ui/choices/emoji-list.ts';
import { notePicked } from '@parley/ui/choices/picked-emoji.ts';
import { type Suggestions, useSuggestions } from '@parley/ui/choices/suggestions.tsx';
import { useMemo, useRef, useState } from 'preact/hooks';
import { emojiAskedAt } from './mentions.ts';

/** The list of emoji that a `:` and two letters open. */
export interface EmojiList {
  readonly suggestions: Suggestions<Choice>;
  readonly isOpen: boolean;
  /** Shows the emoji for the name at the caret; a name with its second colon is taken at once. */
  readonly look: (text: string, caret: number) => void;
  readonly close: () => void;
}

/** `onChoose` gets the emoji and the name that was being written, which it replaces. */
export function useEmojiList(onChoose: (emoji: string, asked: Asked) => void): EmojiList {
  const [asked, setAsked] = useState<Asked | null>(null);
  const [all, setAll] = useState<readonly Emoji[]>([]);
  const wanted = useRef<Asked | null>(null);
  const words = asked?.words.replace(':', '') ?? null;
  const items = useMemo(
    () =>
      (words === null ? [] : emojiNamed(words, all, 8)).map(({ emoji, names: [name] }) => ({
        id: emoji,
        name: `${emoji} :${name}:`,
      })),
    [words, all],
  );
  const isOpen = items.length > 0;
  const choose = (emoji: string, where: Asked) => {
    notePicked(emoji);
    setAsked(null);
    onChoose(emoji, where);
  };
  const suggestions = useSuggestions<Choice>({
    items,
    words: isOpen ? words : null,
    takesTab: true,
    isCurrent: true,
    onChoose: ({ id }) => choose(id, asked!),
  });
  const look = (text: string, caret: number) => {
    const next = emojiAskedAt(text, caret);
    wanted.current = next;
    if (next === null) setAsked(null);
    // Without the list of emoji the name stays as it was written.
    else
      allEmoji().then(
        (list) => show(list, next),
        () => {},
      );
  };
  const show = (list: readonly Emoji[], next: Asked) => {
    if (wanted.current !== next) return;
    setAll(list);
    if (!next.words.endsWith(':')) {
      setAsked(next);
      return;
    }
    const named = list.find(({ names }) => names.includes(next.words.slice(0, -1).toLowerCase()));
    setAsked(null);
    if (named !== undefined) choose(named.emoji, next);
  };
  const close = () => {
    wanted.current = null;
    setAsked(null);
  };
  return { suggestions, isOpen, look, close };
}
