import {
  RetentionPolicy,
  SetRetentionPolicyBody,
} from '../../contract/protocol/resources/retention-policy.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { defineRoute, type Route } from '../../platform/http/pipeline/route.ts';
import { readPolicy, setPolicy } from './retention-policy.ts';

/** Routes of the retention policy (docs/contract.md#retention). */
export function policyRoutes(database: Database, sweep: { wake(): void }): Route[] {
  return [
    defineRoute({
      name: 'get_retention_policy',
      method: 'GET',
      path: '/v1/account/retention',
      summary: 'Get how long the account keeps messages, files, notifications, runs and audit events',
      since: '1.2.harbor',
      permission: 'retention:read',
      agents: false,
      status: 200,
      response: RetentionPolicy,
      handle: ({ principal }) => readPolicy(database, principal.accountId),
    }),
    defineRoute({
      name: 'set_retention_policy',
      method: 'PUT',
      path: '/v1/account/retention',
      summary: 'Replace how long the account keeps messages, files, notifications, runs and audit events',
      since: '1.2.harbor',
      permission: 'retention:update',
      agents: false,
      body: SetRetentionPolicyBody,
      status: 200,
      response: RetentionPolicy,
      change(tx, { principal, body, afterCommit }) {
        afterCommit(() => sweep.wake());
        return setPolicy(tx, principal, body);
      },
    }),
  ];
}
