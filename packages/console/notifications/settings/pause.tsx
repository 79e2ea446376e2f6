import { Button } from '@parley/ui/elements/button.tsx';
import { skippedTime } from '@parley/ui/text/field-time.ts';
import { fullTimeOf } from '@parley/ui/text/time.ts';
import type { SettingsPart } from './settings-part.ts';

const HOUR_MS = 3_600_000;

/** Holds push and mail back until a moment. */
export function Pause({ settings: { mute_until: until }, change }: SettingsPart) {
  const pauseUntil = (at: Date | null) => change({ mute_until: at?.toISOString() ?? null });
  return (
    <fieldset class="settings-part">
      <legend>Pause</legend>
      <p role="status">
        {until === null
          ? 'Push and mail come as they are set.'
          : `Nothing is pushed or mailed until ${fullTimeOf(until)}.`}
      </p>
      <div class="field-line notification-settings-line">
        <Button onClick={() => pauseUntil(new Date(Date.now() + HOUR_MS))}>For an hour</Button>
        <Button onClick={() => pauseUntil(morning(1))}>Until tomorrow</Button>
        <Button onClick={() => pauseUntil(morning(7))}>For a week</Button>
        <label class="field-line notification-settings-line">
          Until
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
            Resume
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
