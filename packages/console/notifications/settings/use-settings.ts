import type {
  NotificationSettings,
  SetNotificationSettingsBody,
} from '@parley/protocol/resources/notification-settings.ts';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { failureText } from '@parley/ui/texts/failure-text.ts';
import { useRef, useState } from 'preact/hooks';
import { useSignedIn } from '../../session/session-context.tsx';

export interface OwnSettings {
  /** Null until they are known. */
  readonly settings: NotificationSettings | null;
  /** The failure of the last change, or of reading the settings. */
  readonly problem: string;
  /**
   * Changes the given settings and leaves the rest. The page shows it at once, and takes it back if
   * the server refuses.
   */
  readonly change: (changes: SetNotificationSettingsBody) => Promise<void>;
}

/** Returns the person's own settings of notifications. */
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
    // Changes run one after another, so that the last one stays.
    const made = changes.current.then(() => client.setNotificationSettings(body));
    changes.current = made.catch(() => {});
    return made.then(
      () => {},
      (error: unknown) => {
        setRefused(failureText(error));
        return own.reload();
      },
    );
  };
  return { settings: own.value, problem: refused || own.problem, change };
}
