import { TRIGGER_EVENTS } from '@parley/protocol/trigger-events.ts';
import { WEBHOOK_EVENTS } from '@parley/protocol/webhook-events.ts';
import { itemsOf } from '@parley/ui/form/draft.ts';
import type { OwnControlProps } from '@parley/ui/form/form-context.ts';
import { sentenceOf } from '@parley/ui/form/labels.ts';
import { useId } from 'preact/hooks';
import { texts } from '../texts/texts.ts';

const areaOf = (name: string) => name.split('.', 1)[0]!;
const AREAS = [...new Set(WEBHOOK_EVENTS.map(areaOf))].map(
  (area) => [area, WEBHOOK_EVENTS.filter((name) => areaOf(name) === area)] as const,
);
const ALL = '*';

/** The events of a webhook: all, whole areas, single ones, and those of the application. */
export function EventPicker({ draft, onDraft }: OwnControlProps) {
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
      <OwnEvents names={own} onNames={(names) => onDraft([...known, ...names])} />
    </div>
  );
}

/** The events that start an agent: some of Parley, and those of the application. */
export function TriggerPicker({ draft, onDraft }: OwnControlProps) {
  const chosen = itemsOf(draft).map(String);
  const [known, own] = [chosen.filter(isTrigger), chosen.filter((name) => !isTrigger(name))];
  return (
    <div class="event-picker">
      {TRIGGER_EVENTS.map((name) => (
        <Tick
          key={name}
          text={name}
          isOn={known.includes(name)}
          onTick={(isOn) => onDraft(isOn ? [...chosen, name] : chosen.filter((one) => one !== name))}
        />
      ))}
      <OwnEvents names={own} onNames={(names) => onDraft([...known, ...names])} />
    </div>
  );
}

function isTrigger(name: string): boolean {
  return TRIGGER_EVENTS.some((one) => one === name);
}

interface OwnEventsProps {
  readonly names: readonly string[];
  readonly onNames: (names: readonly string[]) => void;
}

function OwnEvents({ names, onNames }: OwnEventsProps) {
  const id = useId();
  return (
    <div class="field">
      <label class="field-label" for={id}>
        {texts.administration.ownEvents}
      </label>
      <p class="field-help">{texts.administration.ownEventsHelp}</p>
      <input
        id={id}
        autocomplete="off"
        defaultValue={names.join(' ')}
        onChange={({ currentTarget: { value } }) =>
          onNames(value.split(/[\s,]+/).filter((name) => name !== ''))
        }
      />
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
