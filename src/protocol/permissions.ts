/** Every permission a role can grant, `{permission}:{action}` (specification, Authentication; design.md section 8). */
export const PERMISSIONS = [
  'messaging:read',
  'messaging:create',
  'messaging:update',
  'messaging:send_external',
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
