import { useEffect, useRef, useState } from 'preact/hooks';
import { useEvent } from '../hooks/use-event.ts';
import { SuggestionField, type SuggestionFieldProps } from './suggestion-field.tsx';

/** The source of choices. */
export interface Choices extends Pick<SuggestionFieldProps, 'find'> {
  /** Returns the text for a value that was picked before. */
  readonly labelOf: (value: string) => Promise<string>;
}

export interface ComboboxProps
  extends Choices,
    Omit<SuggestionFieldProps, 'chosen' | 'onChoose' | 'onEmpty'> {
  /** The id of a choice. Empty text is no choice. */
  readonly value: string;
  readonly onPick: (value: string) => void;
}

/** A field that holds one of many values, which are searched for by name. */
export function Combobox({ value, onPick, labelOf, ...rest }: ComboboxProps) {
  const chosen = useLabel(value, labelOf);
  return (
    <SuggestionField {...rest} chosen={chosen} onChoose={({ id }) => onPick(id)} onEmpty={() => onPick('')} />
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
