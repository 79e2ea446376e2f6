import { type DoNotDisturb, WEEKDAYS } from '@parley/protocol/resources/notification-settings.ts';
import { useId } from 'preact/hooks';
import { texts } from '../../texts/texts.ts';
import type { SettingsPart } from './settings-part.ts';

/** Hours of the day in which nothing is pushed or mailed. */
export function QuietHours({ settings: { do_not_disturb: hours }, change }: SettingsPart) {
  const id = useId();
  const set = (changes: Partial<DoNotDisturb>) => change({ do_not_disturb: { ...hours!, ...changes } });
  return (
    <fieldset class="settings-part">
      <legend>{texts.notifications.quietHours}</legend>
      <label class="notification-settings-choice">
        <input
          type="checkbox"
          checked={hours !== null}
          onChange={(event) => change({ do_not_disturb: event.currentTarget.checked ? atNight() : null })}
        />
        <span>{texts.notifications.quiet}</span>
      </label>
      {hours !== null && (
        <>
          <div class="field-line notification-settings-line">
            <label for={`${id}-from`}>{texts.notifications.from}</label>
            <Clock id={`${id}-from`} value={hours.from} onChange={(from) => set({ from })} />
            <label for={`${id}-to`}>{texts.notifications.to}</label>
            <Clock id={`${id}-to`} value={hours.to} onChange={(to) => set({ to })} />
            <select
              aria-label={texts.notifications.timeZone}
              value={hours.timezone}
              onChange={(event) => set({ timezone: event.currentTarget.value })}
            >
              {zonesWith(hours.timezone).map((zone) => (
                <option key={zone}>{zone}</option>
              ))}
            </select>
          </div>
          <fieldset aria-label={texts.notifications.beginOn} class="notification-settings-days">
            {WEEKDAYS.map((day) => {
              const isOn = hours.days.includes(day);
              const others = hours.days.filter((one) => one !== day);
              return (
                <label key={day} class="notification-settings-day">
                  <input
                    type="checkbox"
                    checked={isOn}
                    // The hours need at least one day to begin on.
                    disabled={isOn && others.length === 0}
                    onChange={() => set({ days: isOn ? others : [...others, day] })}
                  />
                  {texts.notifications.days[day]}
                </label>
              );
            })}
          </fieldset>
        </>
      )}
    </fieldset>
  );
}

interface ClockProps {
  readonly id: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function Clock({ id, value, onChange }: ClockProps) {
  return (
    <input
      id={id}
      type="time"
      required
      value={value}
      onChange={({ currentTarget }) => currentTarget.value !== '' && onChange(currentTarget.value)}
    />
  );
}

function atNight(): DoNotDisturb {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  return { from: '22:00', to: '07:00', timezone: timeZone, days: [...WEEKDAYS] };
}

function zonesWith(zone: string): readonly string[] {
  const zones = Intl.supportedValuesOf('timeZone');
  return zones.includes(zone) ? zones : [zone, ...zones];
}
