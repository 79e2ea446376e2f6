import { SETTINGS_LIMITS } from '@parley/protocol/resources/notification-settings.ts';
import { useId } from 'preact/hooks';
import { texts } from '../../texts/texts.ts';
import type { SettingsPart } from './settings-part.ts';

/** The first choice of minutes. */
const FIRST_MINUTES = 60;

/** A mail with unseen notifications. */
export function Digest({ settings: { digest_after_minutes: minutes }, change }: SettingsPart) {
  const id = useId();
  return (
    <fieldset class="settings-part">
      <legend>{texts.notifications.mail}</legend>
      <label class="notification-settings-choice">
        <input
          type="checkbox"
          checked={minutes !== null}
          onChange={(event) =>
            change({ digest_after_minutes: event.currentTarget.checked ? FIRST_MINUTES : null })
          }
        />
        <span>{texts.notifications.mailUnseen}</span>
      </label>
      {minutes !== null && (
        <div class="field-line notification-settings-line">
          <label for={id}>{texts.notifications.after}</label>
          <input
            id={id}
            type="number"
            required
            min={SETTINGS_LIMITS.shortestDigest}
            max={SETTINGS_LIMITS.longestDigest}
            value={minutes}
            onChange={({ currentTarget }) => {
              if (currentTarget.reportValidity()) {
                void change({ digest_after_minutes: currentTarget.valueAsNumber });
              }
            }}
          />
          <span>{texts.notifications.minutes}</span>
        </div>
      )}
    </fieldset>
  );
}
