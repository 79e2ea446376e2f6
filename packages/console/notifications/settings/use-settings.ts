import type {
  NotificationSettings,
  SetNotificationSettingsBody,
} from '@parley/protocol/resources/notification-settings.ts';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { useRef, useState } from 'preact/hooks';
import { useSignedIn } from '../../session/session-context.tsx';

export interface OwnSettings {
  /** Null until they are known. */
  readonly settings: NotificationSettings | null;
  /** Why the last change was not made, or the settings cannot be read. */
  readonly problem: string;
  /**
   * Changes what is given and leaves the rest. It is shown at once, and taken back if it is
   * refused.
   */
  readonly change: (changes: SetNotificationSettingsBody) => Promise<void>;
}

/** The person's own settings of notifications. */
export function useSettings(): OwnSettings {
  const { client } = useSignedIn();
  const own = useResource('settings', () => client.notificationSettings());
  const [refused, setRefused] = useState('');
  const newest = useRef(own.value);
  newest.current = own.value;
  const changes = useRef<Promise<unknown>>(Promise.resolve());
  const change = (asked: SetNotificationSettingsBody) => {
    const { categories, mute_until, do_not_disturb, digest_after_minutes } = newest.current!;
    const body = { categories, mute_until, do_not_disturb, digest_after_minutes, ...asked };
    newest.current = { ...newest.current!, ...(body as Partial<NotificationSettings>) };
    own.set(newest.current);
    setRefused('');
    // One after another, so that the last change is the one that stays.
    const made = changes.current.then(() => client.setNotificationSettings(body));
    changes.current = made.catch(() => {});
    return made.then(
      () => {},
      (error: Error) => {
        setRefused(error.message);
        return own.reload();
      },
    );
  };
  return { settings: own.value, problem: refused || own.problem, change };
}
