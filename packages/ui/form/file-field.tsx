import { useState } from 'preact/hooks';
import { Button } from '../elements/button.tsx';
import { failureText } from '../texts/failure-text.ts';
import { uiTexts } from '../texts/ui-texts.ts';
import type { Special } from './form-context.ts';
import type { Wiring } from './wiring.ts';

type FileFieldProps = Extract<Special, { readonly kind: 'file' }> & {
  readonly wiring: Wiring;
  readonly value: string;
  readonly onValue: (value: string) => void;
};

/** A file that is uploaded when it is chosen. */
export function FileField({ accept, upload, doneText, wiring, value, onValue }: FileFieldProps) {
  const [state, setState] = useState('');
  const choose = async (file: File | undefined) => {
    if (file === undefined) return;
    setState(uiTexts.form.uploading);
    try {
      onValue(await upload(file));
      setState((doneText ?? uiTexts.form.uploaded)(file.name));
    } catch (error) {
      setState(failureText(error));
    }
  };
  return (
    <span class="field-line">
      <input
        {...wiring}
        type="file"
        accept={accept}
        onChange={({ currentTarget }) => choose(currentTarget.files?.[0])}
      />
      {value !== '' && (
        <Button
          onClick={() => {
            onValue('');
            setState('');
          }}
        >
          {uiTexts.form.remove}
        </Button>
      )}
      <span role="status">{state}</span>
    </span>
  );
}
