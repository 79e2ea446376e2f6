import { FIGURES_KEPT_S, Installation } from '@parley/protocol/resources/installation.ts';
import { Body } from '@parley/protocol/schema/schema.ts';
import { Type } from 'typebox';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import type { Check } from './check.ts';
import { makeChecks } from './checks.ts';
import type { Nodes } from './nodes.ts';

export interface InstallationRoutesOptions {
  readonly nodes: () => Nodes;
  readonly checks: () => readonly Check[];
  readonly docsUrl: () => string;
}

/** Returns the endpoint of operators (docs/contract.md#the-installation). */
export function installationRoutes({ nodes, checks, docsUrl }: InstallationRoutesOptions): Route[] {
  return [
    defineRoute({
      name: 'get_installation',
      method: 'GET',
      path: '/v1/installation',
      summary: 'Get the nodes of the installation with their figures, and what needs attention',
      since: '1.3.harbor',
      permission: null,
      operators: 'all',
      agents: false,
      unsubscribed: true,
      query: Body({
        history_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: FIGURES_KEPT_S, default: 0 })),
      }),
      response: Installation,
      // It hardly uses the pool, and answers while other endpoints cannot.
      isUnpooled: () => true,
      async handle({ query }) {
        const listed = nodes().list(query.history_seconds ?? 0);
        return {
          object: 'installation',
          nodes: listed,
          checks: await makeChecks(checks(), listed, docsUrl()),
        };
      },
    }),
  ];
}
