import type {
  NotificationSettings,
  SetNotificationSettingsBody,
} from '@parley/protocol/resources/notification-settings.ts';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
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
  const [settings, setSettings] = useState<NotificationSettings | null>(null);
  const [problem, setProblem] = useState('');
  const newest = useRef<NotificationSettings | null>(null);
  const changes = useRef<Promise<unknown>>(Promise.resolve());
  const show = useCallback((next: NotificationSettings) => {
    newest.current = next;
    setSettings(next);
  }, []);
  const read = useCallback(() => client.notificationSettings().then(show), [client, show]);
  useEffect(() => {
    read().catch((error: Error) => setProblem(error.message));
  }, [read]);
  const change = (asked: SetNotificationSettingsBody) => {
    const { categories, mute_until, do_not_disturb, digest_after_minutes } = newest.current!;
    const body = { categories, mute_until, do_not_disturb, digest_after_minutes, ...asked };
    show({ ...newest.current!, ...(body as Partial<NotificationSettings>) });
    setProblem('');
    // One after another, so that the last change is the one that stays.
    const made = changes.current.then(() => client.setNotificationSettings(body));
    changes.current = made.catch(() => {});
    return made.then(
      () => {},
      async (error: Error) => {
        setProblem(error.message);
        await read().catch(() => {});
      },
    );
  };
  return { settings, problem, change };
}
