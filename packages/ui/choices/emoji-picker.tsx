import type { IconNode } from 'lucide';
import { SmilePlus } from 'lucide';
import { memo } from 'preact/compat';
import { useEffect, useRef, useState } from 'preact/hooks';
import { IconButton } from '../elements/button.tsx';
import { Popover } from '../overlays/popover.tsx';
import { uiTexts } from '../texts/ui-texts.ts';
import { pressedKey } from '../typing/pressed-key.ts';
import { allEmoji, type Emoji, emojiNamed } from './emoji-list.ts';
import { notePicked, recentEmoji } from './picked-emoji.ts';

export interface EmojiButtonProps {
  readonly label: string;
  readonly icon?: IconNode;
  readonly class?: string;
  readonly onPick: (emoji: string) => void;
  /** Called when the picker opens and closes. */
  readonly onOpen?: (isOpen: boolean) => void;
}

/** A button that opens the picker of emoji. */
export function EmojiButton({ label, icon = SmilePlus, class: more, onPick, onOpen }: EmojiButtonProps) {
  const button = useRef<HTMLSpanElement>(null);
  const [isOpen, setOpen] = useState(false);
  const show = (shown: boolean) => {
    setOpen(shown);
    onOpen?.(shown);
  };
  return (
    <span ref={button} class="emoji-button">
      <IconButton
        icon={icon}
        label={label}
        {...(more !== undefined && { class: more })}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={() => show(!isOpen)}
      />
      {isOpen && (
        <EmojiPopover
          anchor={button.current!}
          label={label}
          onClose={() => show(false)}
          onPick={(emoji) => {
            show(false);
            onPick(emoji);
          }}
        />
      )}
    </span>
  );
}

export interface EmojiPopoverProps {
  readonly anchor: HTMLElement;
  readonly label: string;
  readonly onClose: () => void;
  readonly onPick: (emoji: string) => void;
}

/** The picker beside an element, for pages that open it without its button. */
export function EmojiPopover({ anchor, label, onClose, onPick }: EmojiPopoverProps) {
  return (
    <Popover
      anchor={anchor}
      label={label}
      onClose={onClose}
      placement="top-start"
      class="emoji-picker"
      onKeyDown={moveOn}
    >
      <EmojiPicker
        onPick={(emoji) => {
          notePicked(emoji);
          onPick(emoji);
        }}
      />
    </Popover>
  );
}

function EmojiPicker({ onPick }: Pick<EmojiPopoverProps, 'onPick'>) {
  const [all, setAll] = useState<readonly Emoji[]>();
  const [problem, setProblem] = useState(false);
  const [words, setWords] = useState('');
  useEffect(() => {
    allEmoji().then(setAll, () => setProblem(true));
  }, []);
  const found = all === undefined ? [] : emojiNamed(words, all);
  const pickFirst = (event: KeyboardEvent) => {
    if (pressedKey(event) !== 'Enter') return;
    event.preventDefault();
    if (found[0] !== undefined && words.trim() !== '') onPick(found[0].emoji);
  };
  return (
    <>
      <input
        type="search"
        class="emoji-picker-search"
        aria-label={uiTexts.choices.searchEmoji}
        placeholder={uiTexts.choices.searchEmoji}
        value={words}
        onInput={(event) => setWords(event.currentTarget.value)}
        onKeyDown={pickFirst}
      />
      <div class="emoji-picker-all">
        {groupsOf(found, words).map(({ category, emoji }, index) => (
          <Group key={category} category={category} emoji={emoji} onPick={onPick} isFirst={index === 0} />
        ))}
      </div>
      <p class="emoji-picker-hint" role="status">
        {problem ? uiTexts.choices.emojiNotLoaded : hintOf(all, found)}
      </p>
    </>
  );
}

interface GroupProps {
  readonly category: string;
  readonly emoji: readonly Emoji[];
  readonly isFirst: boolean;
  readonly onPick: (emoji: string) => void;
}

const Group = memo(
  ({ category, emoji, isFirst, onPick }: GroupProps) => (
    <fieldset class="emoji-picker-group">
      <legend>{uiTexts.choices.emojiGroups[category] ?? category}</legend>
      {emoji.map(({ emoji: one, description, names }, index) => (
        <button
          key={one}
          type="button"
          class="emoji-picker-one"
          aria-label={description}
          title={`:${names[0]}:`}
          // One button takes the tabulator; the arrow keys move on from it.
          tabIndex={isFirst && index === 0 ? 0 : -1}
          onClick={() => onPick(one)}
        >
          {one}
        </button>
      ))}
    </fieldset>
  ),
  (one, other) => one.emoji === other.emoji || (one.emoji[0] === other.emoji[0] && sameEmoji(one, other)),
);

function sameEmoji({ emoji: one }: GroupProps, { emoji: other }: GroupProps): boolean {
  return one.length === other.length && one.every((emoji, index) => emoji === other[index]);
}

function groupsOf(found: readonly Emoji[], words: string): Omit<GroupProps, 'isFirst' | 'onPick'>[] {
  if (found.length === 0) return [];
  if (words.trim() !== '') return [{ category: uiTexts.choices.found, emoji: found }];
  const groups = new Map<string, Emoji[]>();
  const byEmoji = new Map(found.map((one) => [one.emoji, one]));
  const recent = recentEmoji().flatMap((one) => byEmoji.get(one) ?? []);
  if (recent.length > 0) groups.set(uiTexts.choices.recent, recent);
  for (const one of found) {
    const group = groups.get(one.category) ?? [];
    groups.set(one.category, group);
    group.push(one);
  }
  return [...groups].map(([category, emoji]) => ({ category, emoji }));
}

function hintOf(all: readonly Emoji[] | undefined, found: readonly Emoji[]): string {
  if (all === undefined) return uiTexts.choices.loading;
  return found.length === 0 ? uiTexts.choices.noEmoji : '';
}

/** Moves the focus by arrow keys from the search to the emoji, and between emoji. */
function moveOn(event: KeyboardEvent): void {
  const all = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('.emoji-picker-one')];
  const isSearch = event.target instanceof HTMLInputElement;
  const pressed = pressedKey(event);
  const first = pressed === 'ArrowDown' ? all[0] : undefined;
  const next = isSearch ? first : nextOf(pressed, all, event.target);
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}

/** Returns the button to which a key leads from another one, by their places. */
function nextOf<Placed extends Pick<HTMLElement, 'offsetTop' | 'offsetLeft'>>(
  key: string,
  all: readonly Placed[],
  from: unknown,
): Placed | undefined {
  const at = all.indexOf(from as Placed);
  if (at < 0) return undefined;
  const { offsetTop, offsetLeft } = all[at]!;
  switch (key) {
    case 'ArrowRight':
      return all[at + 1];
    case 'ArrowLeft':
      return all[at - 1];
    case 'Home':
      return all[0];
    case 'End':
      return all.at(-1);
    case 'ArrowDown':
      return all.slice(at).find((one) => one.offsetTop > offsetTop && one.offsetLeft >= offsetLeft);
    case 'ArrowUp':
      return all.slice(0, at).findLast((one) => one.offsetTop < offsetTop && one.offsetLeft <= offsetLeft);
    default:
      return undefined;
  }
}
