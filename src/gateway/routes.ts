import { defineRoute, type Route } from '../http/route.ts';
import { ApiError } from '../protocol/errors.ts';
import { RealtimeTicket } from '../protocol/realtime-ticket.ts';
import { Body } from '../protocol/schema.ts';
import type { Tickets } from './tickets.ts';

/** What of sockets goes over REST (design.md section 8). */
export function realtimeRoutes(tickets: Tickets): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/realtime/tickets',
      summary: 'Take a ticket that opens one socket within 30 seconds',
      since: '1.1.harbor',
      permission: null,
      customers: true,
      body: Body({}),
      status: 201,
      response: RealtimeTicket,
      handle: async ({ principal }): Promise<RealtimeTicket> => {
        // Credentials in another form: closed to agents (design.md section 7, agents' limits).
        if (principal.actor.type === 'agent') {
          throw new ApiError('insufficient_permissions', 'Agents cannot take tickets.');
        }
        const { ticket, expiresAt } = await tickets.issue(principal);
        return { object: 'realtime_ticket', ticket, expires_at: expiresAt };
      },
    }),
  ];
}
