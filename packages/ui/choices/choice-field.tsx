import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useId, useRef, useState } from 'preact/hooks';
import { Popover } from '../overlays/popover.tsx';
import { pressedKey } from '../typing/pressed-key.ts';
import { useFound, useWhenReady } from './use-found.ts';

/** Something that a field offers. */
export interface Choice {
  readonly id: string;
  readonly name: string;
  /** Stands behind the name, quietly. */
  readonly detail?: string | null | undefined;
  /** Stands before the name. */
  readonly picture?: ComponentChildren;
}

export interface ChoiceFieldProps {
  readonly label: string;
  readonly placeholder?: string;
  /** Returns what fits the words; called once they have not changed for a moment. */
  readonly find: (words: string) => Promise<readonly Choice[]>;
  readonly onChoose: (choice: Choice) => void;
  /** Whether the field is for the first thing in a dialog. */
  readonly autoFocus?: boolean;
}

/** A field that finds things by a few letters. The arrow keys and Enter choose one. */
export function ChoiceField({ label, placeholder, find, onChoose, autoFocus = false }: ChoiceFieldProps) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [words, setWords] = useState('');
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const asking = useRef(find);
  asking.current = find;
  const ask = useCallback((words: string) => asking.current(words), []);
  const { result: choices, isCurrent } = useFound(words.trim(), isOpen ? ask : null);
  useEffect(() => {
    if (autoFocus) input.current!.focus();
  }, [autoFocus]);
  const choose = (choice: Choice | undefined) => {
    if (choice === undefined) return;
    setWords('');
    setOpen(false);
    onChoose(choice);
  };
  const enter = useWhenReady(isCurrent, () => choose(choices?.[at]));
  const press = (event: KeyboardEvent) => {
    const pressed = pressedKey(event);
    const all = choices ?? [];
    const step = { ArrowDown: 1, ArrowUp: -1 }[pressed];
    if (step !== undefined) {
      event.preventDefault();
      setOpen(true);
      if (all.length > 0) setAt((at + step + all.length) % all.length);
    } else if (pressed === 'Enter' && isOpen && words !== '') {
      event.preventDefault();
      enter();
    } else if (pressed === 'Escape' && isOpen && words !== '') {
      event.preventDefault();
      event.stopPropagation();
      setWords('');
      setOpen(false);
    }
  };
  const isListed = isOpen && choices !== null;
  const current = isListed ? choices[at] : undefined;
  return (
    <div class="choice-field">
      <label for={id}>{label}</label>
      <input
        ref={input}
        id={id}
        autofocus={autoFocus}
        role="combobox"
        autocomplete="off"
        placeholder={placeholder}
        aria-autocomplete="list"
        aria-expanded={isListed}
        aria-controls={`${id}-list`}
        aria-activedescendant={current && `${id}-${current.id}`}
        value={words}
        onInput={(event) => {
          setWords(event.currentTarget.value);
          setAt(0);
          setOpen(true);
          enter(false);
        }}
        onBlur={() => setOpen(false)}
        onKeyDown={press}
      />
      {isListed && choices.length > 0 && (
        <Popover
          anchor={input.current!}
          id={`${id}-list`}
          role="listbox"
          label={label}
          takesFocus={false}
          class="choice-field-list"
          onClose={() => setOpen(false)}
        >
          {choices.map((choice, index) => (
            <div
              key={choice.id}
              id={`${id}-${choice.id}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === at}
              class="choice-field-option"
              // The focus stays in the field.
              onMouseDown={(event) => {
                event.preventDefault();
                choose(choice);
              }}
            >
              <ChoiceLine choice={choice} />
            </div>
          ))}
        </Popover>
      )}
      {isListed && choices.length === 0 && words !== '' && <p class="choice-field-none">Nothing found.</p>}
    </div>
  );
}

/** Shows a choice on one line. */
export function ChoiceLine({ choice: { name, detail, picture } }: { readonly choice: Choice }) {
  return (
    <span class="choice-line">
      {picture}
      <span class="choice-line-name">{name}</span>
      {detail && <span class="choice-line-detail">{detail}</span>}
    </span>
  );
}
