import { useEffect, useRef, useState } from 'preact/hooks';
import { uiTexts } from '../texts/ui-texts.ts';
import type { Choice } from './choice-line.tsx';
import { SuggestionPopover, useSuggestions } from './suggestions.tsx';
import { useFound } from './use-found.ts';

export interface SuggestionFieldProps {
  readonly id: string;
  /** Names the list. */
  readonly label: string;
  readonly placeholder?: string;
  /** Returns the choices that fit the words, in their order; for no words, the first ones. */
  readonly find: (words: string) => Promise<readonly Choice[]>;
  readonly onChoose: (choice: Choice) => void;
  /** The earlier choice, shown until something is typed. A click on it shows the first choices. */
  readonly chosen?: string;
  /** Called when the text is removed. */
  readonly onEmpty?: () => void;
  /** Whether the field is for the first thing in a dialog. */
  readonly autoFocus?: boolean;
  readonly 'aria-describedby'?: string | undefined;
  readonly 'aria-invalid'?: boolean;
  readonly 'aria-required'?: boolean;
}

/** A field that finds things by a few letters. Words that are left without a choice are dropped. */
export function SuggestionField({ label, find, onChoose, chosen, onEmpty, ...rest }: SuggestionFieldProps) {
  const { autoFocus = false, ...attributes } = rest;
  const box = useRef<HTMLInputElement>(null);
  const [words, setWords] = useState<string | null>(null);
  const { result, problem, isCurrent } = useFound(words, find);
  const open = () => setWords((present) => present ?? '');
  const close = () => setWords(null);
  const suggestions = useSuggestions({
    words,
    isCurrent,
    items: result ?? [],
    onChoose: (choice) => {
      close();
      onChoose(choice);
    },
    onOpen: open,
  });
  useEffect(() => {
    if (autoFocus) box.current!.focus();
  }, [autoFocus]);
  const isNone = isCurrent && result?.length === 0;
  return (
    <>
      <input
        {...attributes}
        {...suggestions.field}
        ref={box}
        autofocus={autoFocus}
        value={words ?? chosen ?? ''}
        onInput={({ currentTarget: { value } }) => {
          if (value === '') onEmpty?.();
          setWords(value);
        }}
        onClick={chosen === undefined ? undefined : open}
        onBlur={close}
        onKeyDown={suggestions.press}
      />
      {words !== null && (
        <SuggestionPopover
          label={label}
          of={suggestions}
          anchor={box.current!}
          onClose={close}
          state={
            problem ||
            (isNone ? uiTexts.choices.nothingFound : result === null ? uiTexts.choices.searching : '')
          }
        />
      )}
    </>
  );
}
