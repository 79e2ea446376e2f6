import type { PushApp } from '@parley/protocol/resources/push-app.ts';
import { fullTimeOf } from '@parley/ui/text/time.ts';
import type { MoreProps } from '../administration/section.ts';
import { texts } from '../texts/texts.ts';

/** Says whether the service takes the credential of an app, and what it says where it does not. */
export function AppState({ item }: MoreProps) {
  const { platform, last_success_at: taken, failing_since: failing, last_error } = item as unknown as PushApp;
  const service = texts.push.services[platform];
  return (
    <section class="administration-part" aria-label={texts.push.credential}>
      <h2>{texts.push.credential}</h2>
      {failing !== null ? (
        <>
          <p class="problem">{texts.push.refused(service, fullTimeOf(failing))}</p>
          <p class="facts-text">{last_error}</p>
          <p>{texts.push.afterRefusal}</p>
        </>
      ) : (
        <p>{taken === null ? texts.push.untried : texts.push.taken(service, fullTimeOf(taken))}</p>
      )}
    </section>
  );
}
