import { AGENT_LIMITS } from '@parley/protocol/resources/agent-definition.ts';
import { RUN_LIMITS } from '@parley/protocol/resources/agent-run.ts';
import { BUILT_IN_TOOLS, toolSlugOf } from '@parley/protocol/resources/available-tool.ts';
import { APPROVAL_MS } from '@parley/protocol/states/agent-run-states.ts';
import type { Route } from '../../pipeline/route.ts';
import type { Document } from '../documents.ts';
import { code, html, table } from './html.ts';
import { markdownPage } from './page.ts';

/** Triggers of agents, the limits of their runs, and the controls for people. */
export function agentsPage(routes: readonly Route[]): Promise<Document> {
  const endpointTools = routes.flatMap((route) => {
    const slug = toolSlugOf(route);
    return slug === undefined
      ? []
      : [[code(slug), code(`${route.method} ${route.path}`), html`${route.summary}`]];
  });
  return markdownPage('agents', {
    ...RUN_LIMITS,
    ...AGENT_LIMITS,
    approvalHours: APPROVAL_MS / 3_600_000,
    builtInTools: BUILT_IN_TOOLS.map((name) => `\`${name}\``).join(', '),
    endpointTools: table(['Slug', 'Endpoint', 'What it does'], endpointTools),
  });
}
