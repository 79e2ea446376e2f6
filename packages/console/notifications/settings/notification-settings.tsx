import { Problem } from '@parley/ui/feedback/problem.tsx';
import { texts } from '../../texts/texts.ts';
import { CategoryChannels } from './category-channels.tsx';
import { Digest } from './digest.tsx';
import { Pause } from './pause.tsx';
import { QuietHours } from './quiet-hours.tsx';
import { ThisBrowser } from './this-browser.tsx';
import { useSettings } from './use-settings.ts';

/** The section of the settings about notifications. A change is made at once. */
export function NotificationSettings() {
  const { settings, problem, change } = useSettings();
  return (
    <section class="notification-settings" aria-labelledby="notification-settings-title">
      <h2 id="notification-settings-title">{texts.notifications.notifications}</h2>
      <ThisBrowser />
      {settings !== null && (
        <>
          <Pause settings={settings} change={change} />
          <QuietHours settings={settings} change={change} />
          <Digest settings={settings} change={change} />
          <CategoryChannels settings={settings} change={change} />
        </>
      )}
      <Problem text={problem} />
    </section>
  );
}
