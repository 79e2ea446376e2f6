import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { useEvent } from '../hooks/use-event.ts';
import { Popover } from '../overlays/popover.tsx';
import { pressedKey } from '../typing/pressed-key.ts';

/** One of many that can be picked. */
export interface Choice {
  readonly value: string;
  readonly label: string;
  /** What tells it from others of the same name. */
  readonly detail?: string;
}

/** Where choices come from. */
export interface Choices {
  /** Returns those that fit what was typed; with no words, the first ones. */
  readonly find: (words: string) => Promise<readonly Choice[]>;
  /** Returns what is shown for a value that was picked before. */
  readonly labelOf: (value: string) => Promise<string>;
}

export interface ComboboxProps extends Choices {
  readonly id: string;
  readonly value: string;
  readonly onPick: (value: string) => void;
  /** Names the list of choices. */
  readonly label: string;
  readonly placeholder?: string;
  readonly 'aria-describedby'?: string | undefined;
  readonly 'aria-invalid'?: boolean;
  readonly 'aria-required'?: boolean;
}

/** A field in which one of many is searched for by its name. Empty text is no choice. */
export function Combobox({ id, value, onPick, find, labelOf, label, ...rest }: ComboboxProps) {
  const list = useId();
  const [box, setBox] = useState<HTMLInputElement | null>(null);
  // Undefined: the label of the value is shown.
  const [words, setWords] = useState<string>();
  const shown = useLabel(value, labelOf);
  const found = useFound(words, find);
  const [at, setAt] = useState(0);
  const search = (text: string | undefined) => {
    setWords(text);
    setAt(0);
  };
  const pick = (choice: Choice | undefined) => {
    if (choice !== undefined) onPick(choice.value);
    search(undefined);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const pressed = pressedKey(event);
    const step = { ArrowDown: 1, ArrowUp: -1 }[pressed];
    if (step !== undefined) {
      event.preventDefault();
      if (words === undefined) search('');
      else if (found !== undefined) setAt((at + step + found.length) % Math.max(1, found.length));
    } else if (pressed === 'Enter' && words !== undefined) {
      event.preventDefault();
      pick(found?.[at]);
    }
  };
  const isOpen = words !== undefined && box !== null;
  return (
    <>
      <input
        {...rest}
        ref={setBox}
        id={id}
        role="combobox"
        autocomplete="off"
        aria-autocomplete="list"
        aria-expanded={isOpen}
        aria-controls={isOpen ? list : undefined}
        aria-activedescendant={isOpen && found?.[at] !== undefined ? `${list}-${at}` : undefined}
        value={words ?? shown}
        onInput={({ currentTarget }) => {
          if (currentTarget.value === '') onPick('');
          search(currentTarget.value);
        }}
        onClick={() => words === undefined && search('')}
        onBlur={() => search(undefined)}
        onKeyDown={onKeyDown}
      />
      {isOpen && (
        <Popover
          anchor={box}
          label={label}
          takesFocus={false}
          class="combobox-list"
          onClose={() => search(undefined)}
        >
          <div role="listbox" id={list} aria-label={label}>
            {found?.map((choice, index) => (
              <div
                key={choice.value}
                role="option"
                id={`${list}-${index}`}
                tabIndex={-1}
                aria-selected={index === at}
                class="combobox-choice"
                // Before the field loses its focus.
                onMouseDown={(event) => {
                  event.preventDefault();
                  pick(choice);
                }}
              >
                {choice.label}
                {choice.detail !== undefined && <small>{choice.detail}</small>}
              </div>
            ))}
          </div>
          <p class="combobox-state" role="status">
            {found === undefined ? 'Searching…' : found.length === 0 ? 'Nothing was found.' : ''}
          </p>
        </Popover>
      )}
    </>
  );
}

function useLabel(value: string, labelOf: Choices['labelOf']): string {
  const [known, setKnown] = useState({ value: '', label: '' });
  const read = useEvent(labelOf);
  const newest = useRef(value);
  newest.current = value;
  useEffect(() => {
    if (value === '') return;
    const show = (label: string) => newest.current === value && setKnown({ value, label });
    read(value).then(show, () => show(value));
  }, [value, read]);
  return value === '' ? '' : known.value === value ? known.label : '…';
}

/** How long typing must pause before a search. */
const PAUSE_MS = 150;

function useFound(words: string | undefined, find: Choices['find']): readonly Choice[] | undefined {
  const [found, setFound] = useState<readonly Choice[]>();
  const read = useEvent(find);
  useEffect(() => {
    setFound(undefined);
    if (words === undefined) return;
    let isOver = false;
    const show = (choices: readonly Choice[]) => {
      if (!isOver) setFound(choices);
    };
    const timer = setTimeout(
      () => {
        read(words.trim()).then(show, () => show([]));
      },
      words === '' ? 0 : PAUSE_MS,
    );
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [words, read]);
  return found;
}
