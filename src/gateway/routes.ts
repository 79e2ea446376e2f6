import { defineRoute, type Route } from '../http/route.ts';
import { RealtimeTicket } from '../protocol/realtime-ticket.ts';
import { Body } from '../protocol/schema.ts';
import type { Tickets } from './tickets.ts';

/** What of sockets goes over REST (design.md section 8). */
export function realtimeRoutes(tickets: Tickets): Route[] {
  return [
    defineRoute({
      name: 'create_realtime_ticket',
      method: 'POST',
      path: '/v1/realtime/tickets',
      summary: 'Take a ticket that opens one socket within 30 seconds',
      since: '1.1.harbor',
      permission: null,
      agents: false,
      customers: true,
      body: Body({}),
      status: 201,
      response: RealtimeTicket,
      handle: async ({ principal }): Promise<RealtimeTicket> => {
        const { ticket, expiresAt } = await tickets.issue(principal);
        return { object: 'realtime_ticket', ticket, expires_at: expiresAt };
      },
    }),
  ];
}
