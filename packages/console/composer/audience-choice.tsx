import { Icon } from '@parley/ui/elements/icon.tsx';
import { Lock, Send } from 'lucide';
import type { Audience } from '../session/kept-writing.ts';
import { texts } from '../texts/texts.ts';

export interface AudienceChoiceProps {
  readonly audience: Audience;
  readonly onChoose: (audience: Audience) => void;
  /** Called by each press, also of the present choice. */
  readonly onPress: () => void;
}

/** The choice of readers in a case. The colour of the composer shows it too. */
export function AudienceChoice({ audience, onChoose, onPress }: AudienceChoiceProps) {
  return (
    <fieldset class="audience-choice">
      <legend class="hidden-visually">{texts.composer.whoReads}</legend>
      {CHOICES.map(({ value, label, icon, key }) => (
        <label key={value} class={`audience-choice-${value}`}>
          <input
            type="radio"
            name="audience"
            value={value}
            aria-keyshortcuts={key}
            checked={audience === value}
            onChange={() => onChoose(value)}
            onClick={onPress}
          />
          <Icon of={icon} size={14} />
          {label}
        </label>
      ))}
    </fieldset>
  );
}

const CHOICES = [
  { value: 'internal', label: texts.composer.internal.label, icon: Lock, key: 'N' },
  { value: 'customer', label: texts.composer.customer.label, icon: Send, key: 'R' },
] as const;
