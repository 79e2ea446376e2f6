import { RetentionPolicy, SetRetentionPolicyBody } from '@parley/protocol/resources/retention-policy.ts';
import { RetentionPreview, RetentionPreviewQuery } from '@parley/protocol/resources/retention-preview.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { readPolicy, setPolicy } from './retention-policy.ts';
import { previewPolicy } from './retention-preview.ts';

/** Returns the routes of the retention policy (docs/contract.md#retention). */
export function policyRoutes(database: Database, sweep: { wake(): void }): Route[] {
  const common = { since: '1.2.harbor', agents: false, response: RetentionPolicy } as const;
  return [
    defineRoute({
      ...common,
      name: 'get_retention_policy',
      method: 'GET',
      path: '/v1/account/retention',
      summary: 'Get how long the account keeps messages, files, notifications, runs and audit events',
      permission: 'retention:read',
      handle: ({ principal }) => readPolicy(database, principal.accountId),
    }),
    defineRoute({
      name: 'preview_retention_policy',
      method: 'GET',
      path: '/v1/account/retention/preview',
      summary: 'Count what a retention policy would purge if it was set now',
      since: '1.4.harbor',
      agents: false,
      permission: 'retention:read',
      query: RetentionPreviewQuery,
      response: RetentionPreview,
      handle: ({ principal, query }) => previewPolicy(database, principal.accountId, query),
    }),
    defineRoute({
      ...common,
      name: 'set_retention_policy',
      method: 'PUT',
      path: '/v1/account/retention',
      summary: 'Replace how long the account keeps messages, files, notifications, runs and audit events',
      permission: 'retention:update',
      body: SetRetentionPolicyBody,
      change(tx, { principal, body, afterCommit }) {
        afterCommit(() => sweep.wake());
        return setPolicy(tx, principal, body);
      },
    }),
  ];
}
