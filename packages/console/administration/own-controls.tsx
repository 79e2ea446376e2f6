import type { OwnControlProps, Special } from '@parley/ui/form/form-context.ts';
import { texts } from '../texts/texts.ts';
import { EventPicker, TriggerPicker } from './event-pickers.tsx';

/** The controls of fields that are more than a text, by the names of the fields. */
export const OWN_CONTROLS: Readonly<Record<string, Special>> = {
  event_types: { kind: 'own', Control: EventPicker, isSet: true },
  event_filters: { kind: 'own', Control: TriggerPicker, isSet: true },
  light: { kind: 'own', Control: ColorField },
  dark: { kind: 'own', Control: ColorField },
  from: { kind: 'own', Control: ClockField },
  to: { kind: 'own', Control: ClockField },
  service_account: credentialFile('.json,application/json'),
  private_key: credentialFile('.p8'),
};

/** A file whose text is the credential. It is sent with the form, and kept by no page. */
function credentialFile(accept: string): Special {
  return {
    kind: 'file',
    accept,
    upload: (file) => file.text(),
    doneText: texts.administration.fileRead,
  };
}

/** A colour, by the picker of the browser or as text. */
function ColorField({ wiring, label, draft, onDraft }: OwnControlProps) {
  const text = typeof draft === 'string' ? draft : '';
  const isColor = /^#[0-9a-f]{6}$/i.test(text);
  return (
    <span class="field-line color-field">
      <input
        type="color"
        aria-label={texts.administration.pick(label)}
        value={isColor ? text : '#0f766e'}
        onInput={({ currentTarget }) => onDraft(currentTarget.value)}
      />
      <input
        {...wiring}
        autocomplete="off"
        placeholder="#0f766e"
        value={text}
        onInput={({ currentTarget }) => onDraft(currentTarget.value)}
      />
    </span>
  );
}

function ClockField({ wiring, draft, onDraft }: OwnControlProps) {
  return (
    <input
      {...wiring}
      type="time"
      value={typeof draft === 'string' ? draft : ''}
      onInput={({ currentTarget }) => onDraft(currentTarget.value)}
    />
  );
}
