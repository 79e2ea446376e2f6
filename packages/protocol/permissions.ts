import { covers, type Version } from './versions.ts';

/** Permissions that a role can be given: `{permission}:{action}` (docs/contract.md#permissions). */
export const PERMISSIONS = [
  'messaging:read',
  'messaging:create',
  'messaging:update',
  'messaging:send_external',
  'messaging:redact',
  'events:read',
  'events:create',
  'alerts:create',
  'notifications:create',
  'inboxes:read',
  'agents:read',
  'agents:create',
  'agents:update',
  'agents:run',
  'accounts:read',
  'accounts:update',
  'roles:read',
  'roles:create',
  'roles:update',
  'users:read',
  'users:create',
  'users:update',
  'tokens:create',
] as const;

export type Permission = (typeof PERMISSIONS)[number];

/** Permissions that only admin roles have (docs/contract.md#permissions). */
export const ADMIN_PERMISSIONS = [
  'api_keys:read',
  'api_keys:create',
  'api_keys:update',
  'audit:read',
  'exports:read',
  'exports:create',
  'imports:read',
  'imports:create',
  'users:erase',
  'retention:read',
  'retention:update',
  'webhooks:read',
  'webhooks:create',
  'webhooks:update',
  'inboxes:create',
  'inboxes:update',
  'identity_providers:read',
  'identity_providers:create',
  'identity_providers:update',
  'widgets:read',
  'widgets:create',
  'widgets:update',
  'push_apps:read',
  'push_apps:create',
  'push_apps:update',
] as const;

export type AdminPermission = (typeof ADMIN_PERMISSIONS)[number];

/** Permissions that callers of an older version are not shown. */
const PERMISSIONS_SINCE: Readonly<Partial<Record<string, Version>>> = {
  'imports:read': '1.3.harbor',
  'imports:create': '1.3.harbor',
  'identity_providers:read': '1.3.harbor',
  'identity_providers:create': '1.3.harbor',
  'identity_providers:update': '1.3.harbor',
  'widgets:read': '1.3.harbor',
  'widgets:create': '1.3.harbor',
  'widgets:update': '1.3.harbor',
  'push_apps:read': '1.4.harbor',
  'push_apps:create': '1.4.harbor',
  'push_apps:update': '1.4.harbor',
};

/** Returns the permissions that a version knows. */
export function permissionsAt(version: Version, permissions: readonly string[]): string[] {
  return permissions.filter((permission) => {
    const since = PERMISSIONS_SINCE[permission];
    return since === undefined || covers(version, since);
  });
}
