import { ApiError } from '../../contract/protocol/errors.ts';
import { RealtimeTicket } from '../../contract/protocol/resources/token.ts';
import { Body } from '../../contract/protocol/schema/schema.ts';
import type { PublicRoutes } from '../../platform/http/pipeline/public-routes.ts';
import { defineRoute, type Route } from '../../platform/http/pipeline/route.ts';
import type { Tickets } from './socket/tickets.ts';

/** The endpoints that belong to sockets (docs/realtime.md#opening). */
export function realtimeRoutes(tickets: Tickets): Route[] {
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
  ];
}

/** The answer to a plain request at the address of the socket. */
export function upgradeRoutes(): PublicRoutes {
  return {
    '/v1/realtime': () => {
      throw new ApiError('upgrade_required', 'This endpoint opens a WebSocket. Send an upgrade request.');
    },
  };
}
