import type { PushState } from '@parley/client';
import { useConnection } from '@parley/client/react';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { useSignedIn } from '../../session/session-context.tsx';
import { pushWorker } from '../push-worker.ts';
import { setSound, useSound } from '../sound.ts';

const SAID: Readonly<Record<PushState, string>> = {
  on: 'This browser shows them while no window of the console has the focus.',
  off: 'The browser asks you for permission.',
  denied: 'You have refused notifications to this page. Permit them in the settings of the browser.',
  unsupported: 'This browser has no web push for this page. It needs https, or this machine as its host.',
};

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
      <legend>In this browser</legend>
      <label class="notification-settings-choice">
        <input
          type="checkbox"
          checked={push === 'on'}
          disabled={isBusy || push === null || push === 'unsupported' || push === 'denied'}
          onChange={(event) => turn(event.currentTarget.checked)}
        />
        <span>
          Show notifications of the desktop while I do not look at the console
          {push !== null && <small>{SAID[push]}</small>}
        </span>
      </label>
      <Problem text={problem} />
      <label class="notification-settings-choice">
        <input type="checkbox" checked={sound} onChange={(event) => setSound(event.currentTarget.checked)} />
        <span>Play a sound</span>
      </label>
    </fieldset>
  );
}
