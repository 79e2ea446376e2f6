import { ApiError } from '@parley/protocol/errors/errors.ts';
import {
  NotificationSettings,
  SetNotificationSettingsBody,
} from '@parley/protocol/resources/notification-settings.ts';
import type { Principal } from '../../../api/access/principal.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { setSettings, showSettings } from './settings.ts';

/** Returns the routes of the caller's settings (docs/contract.md#notification-settings). */
export function settingsRoutes(database: Database): Route[] {
  return [
    defineRoute({
      name: 'get_notification_settings',
      method: 'GET',
      path: '/v1/messaging/notification-settings',
      summary: "Get the caller's notification settings",
      since: '1.2.harbor',
      permission: 'messaging:read',
      agents: false,
      response: NotificationSettings,
      handle: ({ principal }) => showSettings(database, requireUser(principal).id),
    }),
    defineRoute({
      name: 'set_notification_settings',
      method: 'PUT',
      path: '/v1/messaging/notification-settings',
      summary: "Replace the caller's notification settings",
      since: '1.2.harbor',
      permission: 'messaging:read',
      agents: false,
      body: SetNotificationSettingsBody,
      response: NotificationSettings,
      change: (tx, { principal, body }) => setSettings(tx, requireUser(principal), body),
    }),
  ];
}

function requireUser({ actor, customer, accountId }: Principal) {
  if (actor.type === 'user' && !customer) return { id: actor.id, account_id: accountId };
  throw new ApiError('insufficient_permissions', 'Only users of the account have notification settings.');
}
