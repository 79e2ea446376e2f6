import type { NotificationSettings } from '@parley/protocol/resources/notification-settings.ts';
import type { OwnSettings } from './use-settings.ts';

/** The properties of each part of the settings. */
export interface SettingsPart {
  readonly settings: NotificationSettings;
  readonly change: OwnSettings['change'];
}
