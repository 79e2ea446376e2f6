import { ApiError } from '@parley/protocol/errors/errors.ts';
import { TypingBody, TypingState } from '@parley/protocol/resources/activity.ts';
import { RealtimeTicket } from '@parley/protocol/resources/token.ts';
import { Body } from '@parley/protocol/schema/schema.ts';
import { PollAnswer, PollBody, StreamBody, StreamText } from '@parley/protocol/socket/streams.ts';
import { STREAMS_SINCE } from '@parley/protocol/versions.ts';
import type { PublicRoutes } from '../../api/pipeline/public-routes.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import { readableConversation, requireSender } from '../../core/conversations/directory/access.ts';
import type { ConversationDirectory } from '../../core/conversations/directory/directory.ts';
import type { Engine } from '../../core/frames/engine.ts';
import type { AllowedOrigins } from '../../platform/http/origins.ts';
import type { Answers } from './answers/answers.ts';
import { publishTyping } from './presence/activity.ts';
import type { Tickets } from './socket/tickets.ts';

export interface RealtimeRoutesOptions {
  readonly tickets: Tickets;
  readonly directory: ConversationDirectory;
  readonly engine: Engine;
  /** Called when requests come, which is after the gateway was made. */
  readonly answers: () => Pick<Answers, 'stream' | 'poll'>;
}

/** The file with the texts of these endpoints (core/documents/operation-texts.ts). */
export const REALTIME_OPERATIONS = new URL('operations.md', import.meta.url);

/** Returns the endpoints of sockets, and those for clients without (docs/realtime.md). */
export function realtimeRoutes({ tickets, directory, engine, answers }: RealtimeRoutesOptions): Route[] {
  return [
    defineRoute({
      name: 'create_realtime_ticket',
      method: 'POST',
      path: '/v1/realtime/tickets',
      summary: 'Create a ticket that opens one socket within 30 seconds',
      since: '1.1.harbor',
      permission: null,
      agents: false,
      customers: true,
      secret: true,
      body: Body({}),
      status: 201,
      response: RealtimeTicket,
      commits: 'Tickets are in the engine, not in Postgres: each opens one socket, within 30 seconds.',
      async handle({ principal, answer }) {
        const { ticket, expiresAt } = await tickets.issue(principal);
        const resource: RealtimeTicket = { object: 'realtime_ticket', ticket, expires_at: expiresAt };
        return answer(resource, undefined);
      },
    }),
    defineRoute({
      name: 'open_realtime_stream',
      path: '/v1/realtime/streams',
      summary: 'Receive what a socket would, as server-sent events',
      ...WITHOUT_SOCKET,
      body: StreamBody,
      response: StreamText,
      contentType: 'text/event-stream',
      handle: (call) => answers().stream(call),
    }),
    defineRoute({
      name: 'poll_realtime',
      path: '/v1/realtime/poll',
      summary: 'Receive what a socket would, in an answer that waits for it',
      ...WITHOUT_SOCKET,
      polls: true,
      body: PollBody,
      response: PollAnswer,
      handle: (call) => answers().poll(call),
    }),
    defineRoute({
      name: 'show_typing',
      method: 'POST',
      path: '/v1/messaging/conversations/:id/actions/typing',
      summary: 'Show that the caller types, or no more',
      since: STREAMS_SINCE,
      permission: 'messaging:create',
      agents: false,
      customers: true,
      body: TypingBody,
      response: TypingState,
      commits: 'Who types is in no table: the event is all there is of it.',
      async handle({ principal, params, body: { state }, answer }) {
        const facts = await readableConversation(directory, principal, params.id!);
        requireSender(principal, facts);
        const { id, external_id = null } = principal.actor;
        publishTyping(engine, facts, principal, state);
        const resource: TypingState = {
          object: 'typing',
          conversation_id: facts.id,
          actor_id: id,
          state,
          external_id,
        };
        return answer(resource, undefined);
      },
    }),
  ];
}

const WITHOUT_SOCKET = {
  method: 'POST',
  since: STREAMS_SINCE,
  permission: null,
  agents: false,
  customers: true,
  asks: true,
  refuses: ['limit_exceeded'],
} as const;

/** Returns the routes that answer a plain request at the socket's address. */
export function upgradeRoutes(origins: Pick<AllowedOrigins, 'require'>): PublicRoutes {
  return {
    '/v1/realtime': (request) => {
      // Browsers do not show a page why its socket was refused.
      origins.require(request);
      throw new ApiError('upgrade_required', 'This endpoint opens a WebSocket. Send an upgrade request.');
    },
  };
}
