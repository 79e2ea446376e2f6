import { Button } from '@parley/ui/elements/button.tsx';
import { skippedTime } from '@parley/ui/text/field-time.ts';
import { fullTimeOf } from '@parley/ui/text/time.ts';
import { texts } from '../../texts/texts.ts';
import type { SettingsPart } from './settings-part.ts';

const HOUR_MS = 3_600_000;

/** Holds push and mail back until a moment. */
export function Pause({ settings: { mute_until: until }, change }: SettingsPart) {
  const pauseUntil = (at: Date | null) => change({ mute_until: at?.toISOString() ?? null });
  return (
    <fieldset class="settings-part">
      <legend>{texts.notifications.pause}</legend>
      <p role="status">
        {until === null ? texts.notifications.notPaused : texts.notifications.pausedUntil(fullTimeOf(until))}
      </p>
      <div class="field-line notification-settings-line">
        <Button onClick={() => pauseUntil(new Date(Date.now() + HOUR_MS))}>
          {texts.notifications.forHour}
        </Button>
        <Button onClick={() => pauseUntil(morning(1))}>{texts.notifications.untilTomorrow}</Button>
        <Button onClick={() => pauseUntil(morning(7))}>{texts.notifications.forWeek}</Button>
        <label class="field-line notification-settings-line">
          {texts.notifications.until}
          <input
            type="datetime-local"
            onChange={({ currentTarget }) => {
              const { value } = currentTarget;
              currentTarget.setCustomValidity(skippedTime(value));
              if (currentTarget.reportValidity() && value !== '') void pauseUntil(new Date(value));
            }}
          />
        </label>
        {until !== null && (
          <Button look="primary" onClick={() => pauseUntil(null)}>
            {texts.notifications.resume}
          </Button>
        )}
      </div>
    </fieldset>
  );
}

/** Returns eight in the morning, some days from now. */
function morning(days: number): Date {
  const at = new Date();
  at.setDate(at.getDate() + days);
  at.setHours(8, 0, 0, 0);
  return at;
}
