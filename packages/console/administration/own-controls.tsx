import { WEBHOOK_EVENTS } from '@parley/protocol/webhook-events.ts';
import { itemsOf } from '@parley/ui/form/draft.ts';
import type { OwnControlProps, Special } from '@parley/ui/form/form-context.ts';
import { sentenceOf } from '@parley/ui/form/labels.ts';
import { useId } from 'preact/hooks';
import { texts } from '../texts/texts.ts';

/** The controls of fields that are more than a text, by the names of the fields. */
export const OWN_CONTROLS: Readonly<Record<string, Special>> = {
  event_types: { kind: 'own', Control: EventPicker, isSet: true },
  light: { kind: 'own', Control: ColorField },
  dark: { kind: 'own', Control: ColorField },
  from: { kind: 'own', Control: ClockField },
  to: { kind: 'own', Control: ClockField },
};

const areaOf = (name: string) => name.split('.', 1)[0]!;
const AREAS = [...new Set(WEBHOOK_EVENTS.map(areaOf))].map(
  (area) => [area, WEBHOOK_EVENTS.filter((name) => areaOf(name) === area)] as const,
);
const ALL = '*';

/** The events of a webhook: all, whole areas, single ones, and those of the application. */
function EventPicker({ draft, onDraft }: OwnControlProps) {
  const id = useId();
  const chosen = itemsOf(draft).map(String);
  const own = chosen.filter((filter) => filter !== ALL && !AREAS.some(([area]) => area === areaOf(filter)));
  const known = chosen.filter((filter) => !own.includes(filter));
  const toggle = (filters: readonly string[], isChosen: boolean) => {
    const others = chosen.filter((filter) => !filters.includes(filter));
    onDraft(isChosen ? [...others, ...filters] : others);
  };
  const isAll = known.includes(ALL);
  return (
    <div class="event-picker">
      <Tick text={texts.administration.allEvents} isOn={isAll} onTick={(is) => toggle([ALL], is)} />
      {!isAll &&
        AREAS.map(([area, names]) => {
          const whole = `${area}.*`;
          const isWhole = known.includes(whole);
          return (
            <div key={area} class="event-area">
              <Tick
                text={texts.administration.allOf(sentenceOf(area))}
                isOn={isWhole}
                onTick={(is) =>
                  onDraft([...chosen.filter((one) => !one.startsWith(`${area}.`)), ...(is ? [whole] : [])])
                }
              />
              {!isWhole &&
                names.map((name) => (
                  <Tick
                    key={name}
                    text={name}
                    isOn={known.includes(name)}
                    onTick={(is) => toggle([name], is)}
                  />
                ))}
            </div>
          );
        })}
      <div class="field">
        <label class="field-label" for={id}>
          {texts.administration.ownEvents}
        </label>
        <p class="field-help">{texts.administration.ownEventsHelp}</p>
        <input
          id={id}
          autocomplete="off"
          defaultValue={own.join(' ')}
          onChange={({ currentTarget: { value } }) =>
            onDraft([...known, ...value.split(/[\s,]+/).filter((name) => name !== '')])
          }
        />
      </div>
    </div>
  );
}

interface TickProps {
  readonly text: string;
  readonly isOn: boolean;
  readonly onTick: (isOn: boolean) => void;
}

function Tick({ text, isOn, onTick }: TickProps) {
  return (
    <label class="field-line">
      <input type="checkbox" checked={isOn} onChange={({ currentTarget }) => onTick(currentTarget.checked)} />
      {text}
    </label>
  );
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
