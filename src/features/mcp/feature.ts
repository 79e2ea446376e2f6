import { InProcess } from '../../api/pipeline/in-process.ts';
import type { Feature } from '../../core/features/feature.ts';
import { tokenIssuersOf } from '../../core/features/token-issuers.ts';
import { type McpParts, mcpRoutes } from './mcp-routes.ts';
import { McpServer } from './mcp-server.ts';
import { ToolSet } from './tool-set.ts';

export const mcp: Feature = {
  hooks: {
    guide: { name: 'assistants', file: new URL('guide.md', import.meta.url), place: 65 },
  },
  open(node) {
    const { database, disposer } = node;
    return {
      join({ routes }) {
        let parts: McpParts | undefined;
        const server = new McpServer(node);
        disposer.add('mcp', server, (it) => it.close());
        return {
          publicRoutes: mcpRoutes({
            ...node,
            server,
            routes,
            tools: new ToolSet(routes),
            parts: () => parts!,
            publicUrl: () => node.urls.public,
            issuersOf: (accountId) => tokenIssuersOf(database, accountId),
          }),
          serve({ http, server: { limits } }) {
            // Tools call the API without a connection.
            parts = { http, caller: new InProcess(http, limits) };
          },
        };
      },
    };
  },
};
