import { ListOf } from '@parley/protocol/lists.ts';
import { AvailableTool, TOOL_CATEGORIES } from '@parley/protocol/resources/available-tool.ts';
import { OneOf } from '@parley/protocol/schema/schema.ts';
import { Type } from 'typebox';
import { defineList, readPage, SearchQuery, toList } from '../../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import type { ToolCatalogue } from './catalogue.ts';

/** Returns the routes of the tools that agents can be given (docs/contract.md#tools). */
export function toolRoutes(catalogue: ToolCatalogue): Route[] {
  return [
    defineRoute({
      name: 'list_tools',
      method: 'GET',
      path: '/v1/ai/tools',
      summary: 'List the tools that agents can be given, by their slugs',
      since: '1.1.harbor',
      permission: 'agents:read',
      query: SearchQuery({ category: Type.Optional(OneOf(TOOL_CATEGORIES)) }),
      response: ListOf(AvailableTool),
      handle({ query, url, version }) {
        const page = readPage(TOOLS, query, { category: query.category });
        const found = catalogue.find(version, query.category, page.search);
        const isForward = page.direction === 'next';
        const inOrder = isForward ? found : found.toReversed();
        const [after] = page.after ?? [];
        const from = inOrder.findIndex(
          ({ slug }) => after === undefined || (isForward ? slug > String(after) : slug < String(after)),
        );
        const rows = from === -1 ? [] : inOrder.slice(from, from + page.fetch);
        const present = (tool: AvailableTool) => tool;
        return toList(rows, page, url, ({ slug }) => [slug], present);
      },
    }),
  ];
}

const TOOLS = defineList('tools', ['text']);
