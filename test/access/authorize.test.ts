import t from 'tap';
import {
  hasPermission,
  requireAccount,
  requirePermission,
  requireSubscription,
} from '../../src/api/access/authorize.ts';
import type { Principal } from '../../src/api/access/principal.ts';
import { refusal, refused } from './refusal.ts';

const principal: Principal = {
  accountId: 'acc_1',
  subscribed: true,
  actor: {
    id: 'act_1',
    object: 'actor',
    type: 'user',
    name: 'Ada',
    handle: 'ada@example.com',
    avatar_url: null,
    role: null,
    external_id: null,
    username: null,
  },
  customer: false,
  admin: false,
  seesOwnIds: false,
  seesHandles: true,
  people: 'everyone',
  operator: false,
  roleId: 'rol_1',
  permissions: new Set(['messaging:read']),
  credential: { kind: 'access_token', id: 'jti', expiresAtMs: null },
};

t.test('permissions are those of the role; an admin has all', async (t) => {
  t.doesNotThrow(() => requirePermission(principal, 'messaging:read'));
  t.equal(await refusal(() => requirePermission(principal, 'messaging:create')), 'insufficient_permissions');
  t.ok(hasPermission({ ...principal, admin: true }, 'agents:create'));

  const trusted = { ...principal, permissions: new Set(['api_keys:create']) };
  t.notOk(hasPermission(trusted, 'api_keys:create'), 'whatever other roles hold');
  t.ok(hasPermission({ ...trusted, admin: true }, 'api_keys:create'));
});

t.test('Service-Account must be there and be the own account', async (t) => {
  t.doesNotThrow(() => requireAccount(principal, 'acc_1'));
  for (const missing of [undefined, '']) {
    t.match(await refused(() => requireAccount(principal, missing)), {
      condition: 'parameter_missing',
      param: 'Service-Account',
    });
  }
  t.match(await refused(() => requireAccount(principal, 'acc_2')), {
    condition: 'resource_not_found',
    param: 'Service-Account',
  });
});

t.test('an account without subscription is refused', async (t) => {
  t.doesNotThrow(() => requireSubscription(principal));
  t.equal(await refusal(() => requireSubscription({ ...principal, subscribed: false })), 'payment_required');
});
