import type { NotificationSettings } from '@parley/protocol/resources/notification-settings.ts';
import type { OwnSettings } from './use-settings.ts';

/** What each part of the settings shows and changes. */
export interface SettingsPart {
  readonly settings: NotificationSettings;
  readonly change: OwnSettings['change'];
}
