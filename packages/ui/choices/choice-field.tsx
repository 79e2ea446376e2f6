import { useId } from 'preact/hooks';
import { SuggestionField, type SuggestionFieldProps } from './suggestion-field.tsx';

export type ChoiceFieldProps = Pick<
  SuggestionFieldProps,
  'label' | 'placeholder' | 'find' | 'onChoose' | 'autoFocus'
>;

/** A field with its label, which is emptied once something was chosen. */
export function ChoiceField(props: ChoiceFieldProps) {
  const id = useId();
  return (
    <div class="choice-field">
      <label for={id}>{props.label}</label>
      <SuggestionField {...props} id={id} />
    </div>
  );
}
