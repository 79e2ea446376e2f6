import { useConnection } from '@parley/client/react';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { useSignedIn } from '../../session/session-context.tsx';
import { texts } from '../../texts/texts.ts';
import { pushWorker } from '../push-worker.ts';
import { setSound, useSound } from '../sound.ts';

/** The settings of this browser alone: push and sound. */
export function ThisBrowser() {
  const { client } = useSignedIn();
  const { state } = useConnection();
  const { value: push, reload } = useResource(client.actor?.id ?? null, () => client.push.state(), {
    version: state,
  });
  const { isBusy, problem, run } = useAction();
  const sound = useSound();
  const turn = (on: boolean) =>
    run(async () => {
      try {
        await (on ? client.push.register(pushWorker()) : client.push.unregister());
      } finally {
        await reload();
      }
    });
  return (
    <fieldset class="settings-part">
      <legend>{texts.notifications.thisBrowser}</legend>
      <label class="notification-settings-choice">
        <input
          type="checkbox"
          checked={push === 'on'}
          disabled={isBusy || push === null || push === 'unsupported' || push === 'denied'}
          onChange={(event) => turn(event.currentTarget.checked)}
        />
        <span>
          {texts.notifications.desktop}
          {push !== null && <small>{texts.notifications.push[push]}</small>}
        </span>
      </label>
      <Problem text={problem} />
      <label class="notification-settings-choice">
        <input type="checkbox" checked={sound} onChange={(event) => setSound(event.currentTarget.checked)} />
        <span>{texts.notifications.sound}</span>
      </label>
    </fieldset>
  );
}
