import { ListOf } from '@parley/protocol/lists.ts';
import {
  ApproveDraftBody,
  EditMessageBody,
  IncludeInSend,
  MessageOutcome,
  MessageRevision,
  RejectDraftBody,
} from '@parley/protocol/resources/chat-message.ts';
import { Body } from '@parley/protocol/schema/schema.ts';
import { defineList, PageQuery, readPage, toList } from '../../../api/pipeline/pagination.ts';
import { type Call, defineRoute, type Route } from '../../../api/pipeline/route.ts';
import { requireWriter } from '../../conversations/directory/access.ts';
import { expandMessage } from '../../resources/expanded-message.ts';
import { approveDraft, rejectDraft } from '../drafts/drafts.ts';
import {
  answering,
  COMMITS,
  type MessageRoutesOptions,
  OF_MESSAGE,
  withoutResources,
} from '../reading/message-routes.ts';
import { outcomeOf } from '../rows/message-outcome.ts';
import { presentRevision, REVISIONS } from '../rows/revision-store.ts';
import { readableMessage } from '../rules/readable-message.ts';
import { sendNow } from '../schedules/send-now.ts';
import { cancelMessage, checkEditBody, deleteMessage, editMessage } from './edit-message.ts';
import { claimEdited } from './edited-attachments.ts';

/** Returns the routes that read, edit and delete a message, and decide about an unsent message. */
export function editRoutes(options: MessageRoutesOptions): Route[] {
  const { database, files, lockedWrites } = options;
  const readable = ({ principal, params }: Pick<Call, 'principal' | 'params'>) =>
    readableMessage(options, principal, params.id!);
  /** Returns a message on which the caller may act, beyond reading it. */
  const writable = async (call: Pick<Call, 'principal' | 'params'>) => {
    const found = await readable(call);
    requireWriter(found.facts.members.get(call.principal.actor.id));
    return found;
  };
  return [
    defineRoute({
      name: 'get_message',
      method: 'GET',
      path: '/v1/messaging/messages/:id',
      summary: 'Get a message',
      since: '1.1.harbor',
      permission: 'messaging:read',
      customers: true,
      ...OF_MESSAGE,
      async handle(call) {
        const { row } = await readable(call);
        return expandMessage(database, files, call.principal, row, call.query['include[]']);
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
      // Customers may read the message.
      reachesOutside: () => true,
      ...OF_MESSAGE,
      body: EditMessageBody,
      rules: ({ params, body }) => checkEditBody(database, params.id!, body),
      async prepare(call) {
        const found = await readable(call);
        // This reads the store of files, so it precedes the transaction.
        return { ...found, attachments: await claimEdited(database, files, call.principal, call.body) };
      },
      async change(tx, { principal, query, body }, { attachments, ...found }) {
        const edited = await editMessage(tx, { principal, ...found }, body, attachments);
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
      ...OF_MESSAGE,
      prepare: readable,
      async change(tx, { principal, query }, found) {
        const tombstone = await deleteMessage(tx, { principal, ...found });
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
      response: MessageOutcome,
      handle: async (call) => outcomeOf((await readable(call)).row),
    }),
    defineRoute({
      name: 'reject_reply_draft',
      method: 'POST',
      path: '/v1/messaging/messages/:id/actions/reject',
      summary: 'Discard an open reply draft without sending it',
      since: '1.0.harbor',
      permission: 'messaging:update',
      ...OF_MESSAGE,
      query: Body({ 'include[]': IncludeInSend }),
      body: RejectDraftBody,
      prepare: writable,
      async change(tx, { principal, query, body }, { row }) {
        const rejected = await rejectDraft(tx, principal, row, body.reason);
        return withoutResources(await expandMessage(tx, files, principal, rejected, query['include[]']));
      },
    }),
    defineRoute({
      name: 'approve_reply_draft',
      method: 'POST',
      path: '/v1/messaging/messages/:id/actions/approve',
      summary: 'Send an open reply draft to the customer',
      since: '1.1.harbor',
      permission: 'messaging:update',
      agents: false,
      ...OF_MESSAGE,
      body: ApproveDraftBody,
      commits: COMMITS.locked,
      async handle(call) {
        const { row } = await writable(call);
        return approveDraft(lockedWrites, call.principal, row, call.body, answering(options, call));
      },
    }),
    defineRoute({
      name: 'cancel_scheduled_message',
      method: 'POST',
      path: '/v1/messaging/messages/:id/actions/cancel',
      summary: 'Take back a scheduled message',
      since: '1.1.harbor',
      permission: 'messaging:update',
      own: OWN_MESSAGES,
      customers: true,
      ...OF_MESSAGE,
      prepare: writable,
      async change(tx, { principal, query }, found) {
        const canceled = await cancelMessage(tx, { principal, ...found });
        return expandMessage(tx, files, principal, canceled, query['include[]']);
      },
    }),
    defineRoute({
      name: 'send_scheduled_message_now',
      method: 'POST',
      path: '/v1/messaging/messages/:id/actions/send-now',
      summary: 'Send a scheduled message before its time',
      since: '1.2.harbor',
      permission: 'messaging:update',
      own: OWN_MESSAGES,
      customers: true,
      reachesOutside: () => true,
      ...OF_MESSAGE,
      commits: COMMITS.locked,
      async handle(call) {
        const found = await writable(call);
        return sendNow(lockedWrites, { principal: call.principal, ...found }, answering(options, call));
      },
    }),
    // Agents are refused, because content that an author took back would stay in their runs
    // (DECISIONS.md#revisions).
    defineRoute({
      name: 'list_message_revisions',
      method: 'GET',
      path: '/v1/messaging/messages/:id/revisions',
      summary: 'List what a message said before edits under legal hold, newest first',
      since: '1.2.harbor',
      permission: 'messaging:update',
      agents: false,
      query: PageQuery({}),
      response: ListOf(MessageRevision),
      async handle(call) {
        const page = readPage(LIST, call.query, { message: call.params.id });
        const { row } = await writable(call);
        const rows = await REVISIONS.readPage(database, [row.id], page);
        return toList(rows, page, call.url, ({ revision }) => [revision], presentRevision);
      },
    }),
  ];
}

const OWN_MESSAGES = { permission: 'messaging:create', of: 'your own messages' } as const;

const LIST = defineList('message revisions', ['integer']);
