import { ListOf } from '../../../contract/protocol/lists.ts';
import {
  ChatMessage,
  EditMessageBody,
  IncludeInMessage,
  MessageOutcome,
  MessageRevision,
} from '../../../contract/protocol/resources/chat-message.ts';
import { Body } from '../../../contract/protocol/schema/schema.ts';
import { defineList, PageQuery, readPage, toList } from '../../../platform/http/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../platform/http/pipeline/route.ts';
import { requireWriter } from '../../conversations/access.ts';
import { expandMessage } from '../../resources/expanded-message.ts';
import { readableMessage } from '../reading/readable-message.ts';
import type { MessageRoutesOptions } from '../route-options.ts';
import { outcomeOf } from '../sending/message-outcome.ts';
import { checkEditBody, deleteMessage, editMessage } from './edit-message.ts';
import { claimEdited } from './edited-attachments.ts';
import { presentRevision, REVISIONS } from './revision-store.ts';

export function editRoutes({ database, files, directory }: MessageRoutesOptions): Route[] {
  const sources = { database, directory };
  return [
    defineRoute({
      name: 'get_message',
      method: 'GET',
      path: '/v1/messaging/messages/:id',
      summary: 'Get a message',
      since: '1.1.harbor',
      permission: 'messaging:read',
      customers: true,
      query: IncludeQuery,
      status: 200,
      response: ChatMessage,
      async handle({ principal, params, query }) {
        const { row } = await readableMessage(sources, principal, params.id!);
        return expandMessage(database, files, principal, row, query['include[]']);
      },
    }),
    defineRoute({
      name: 'update_message',
      method: 'PATCH',
      path: '/v1/messaging/messages/:id',
      summary: 'Edit a message of your own, or an open reply draft',
      since: '1.1.harbor',
      permission: 'messaging:update',
      own: OWN_MESSAGES,
      // The message may be one that customers read.
      reachesOutside: () => true,
      query: IncludeQuery,
      body: EditMessageBody,
      status: 200,
      response: ChatMessage,
      rules: ({ params, body }) => checkEditBody(database, params.id!, body),
      async prepare({ principal, params, body }) {
        const readable = await readableMessage(sources, principal, params.id!);
        // This reads the store of files, so it precedes the transaction.
        return { ...readable, attachments: await claimEdited(database, files, principal, body) };
      },
      async change(tx, { principal, query, body }, { row, facts, attachments }) {
        const edited = await editMessage(tx, { principal, facts, row }, body, attachments);
        return expandMessage(tx, files, principal, edited, query['include[]']);
      },
    }),
    defineRoute({
      name: 'delete_message',
      method: 'DELETE',
      path: '/v1/messaging/messages/:id',
      summary: 'Delete a message; its tombstone stays in the timeline',
      since: '1.1.harbor',
      permission: 'messaging:update',
      own: OWN_MESSAGES,
      query: IncludeQuery,
      status: 200,
      response: ChatMessage,
      prepare: ({ principal, params }) => readableMessage(sources, principal, params.id!),
      async change(tx, { principal, query }, { row, facts }) {
        const tombstone = await deleteMessage(tx, { principal, facts, row });
        return expandMessage(tx, files, principal, tombstone, query['include[]']);
      },
    }),
    defineRoute({
      name: 'get_message_outcome',
      method: 'GET',
      path: '/v1/messaging/messages/:id/outcome',
      summary: 'Get the outcome of a reply draft or a scheduled message',
      since: '1.1.harbor',
      permission: 'messaging:read',
      status: 200,
      response: MessageOutcome,
      async handle({ principal, params }) {
        const { row } = await readableMessage(sources, principal, params.id!);
        return outcomeOf(row);
      },
    }),
  ];
}

const OWN_MESSAGES = { permission: 'messaging:create', of: 'your own messages' } as const;
const IncludeQuery = Body({ 'include[]': IncludeInMessage });

/**
 * Routes of revisions, for people that may set the legal hold. Agents are refused, because content
 * that an author took back would stay in their runs (docs/decisions.md#revisions).
 */
export function revisionRoutes({ database, directory }: MessageRoutesOptions): Route[] {
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
        const page = readPage(LIST, query, { message: params.id });
        const { row, facts } = await readableMessage({ database, directory }, principal, params.id!);
        requireWriter(facts.members.get(principal.actor.id));
        const rows = await REVISIONS.readPage(database, [row.id], page);
        return toList(rows, page, url, ({ revision }) => [revision], presentRevision);
      },
    }),
  ];
}

const LIST = defineList('message revisions', ['integer']);
