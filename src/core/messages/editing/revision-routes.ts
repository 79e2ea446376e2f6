import { ListOf } from '../../../contract/protocol/lists.ts';
import { MessageRevision } from '../../../contract/protocol/resources/message-revision.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { defineList, PageQuery, readPage, toList } from '../../../platform/http/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../platform/http/pipeline/route.ts';
import { requireWriter } from '../../conversations/access.ts';
import type { ConversationDirectory } from '../../conversations/directory.ts';
import { presentRevision } from '../../resources/message-revision.ts';
import { readableMessage } from '../reading/readable-message.ts';
import { readRevisions } from './revision-store.ts';

export interface RevisionRoutesOptions {
  readonly database: Database;
  readonly directory: ConversationDirectory;
}

/**
 * Routes of revisions, for people that may set the legal hold, under which revisions are kept.
 * Agents are refused: what an author took back would stay in their runs
 * (docs/decisions.md#revisions).
 */
export function revisionRoutes({ database, directory }: RevisionRoutesOptions): Route[] {
  return [
    defineRoute({
      name: 'list_message_revisions',
      method: 'GET',
      path: '/v1/messaging/messages/:id/revisions',
      summary: 'List what a message said before edits under legal hold, newest first',
      since: '1.2.harbor',
      permission: 'messaging:update',
      agents: false,
      query: PageQuery({}),
      status: 200,
      response: ListOf(MessageRevision),
      async handle({ principal, params, query, url }) {
        const page = readPage(REVISIONS, query, { message: params.id });
        const { row, facts } = await readableMessage({ database, directory }, principal, params.id!);
        requireWriter(facts.members.get(principal.actor.id));
        const rows = await readRevisions(database, row.id, page);
        return toList(rows, page, url, ({ revision }) => [revision], presentRevision);
      },
    }),
  ];
}

const REVISIONS = defineList('message revisions', ['integer']);
