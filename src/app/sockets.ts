import { Repair } from '../edge/gateway/catch-up/repair.ts';
import { Gateway } from '../edge/gateway/gateway.ts';
import type { Tickets } from '../edge/gateway/socket/tickets.ts';
import type { Access } from './access.ts';
import type { Data } from './data.ts';
import type { Messaging } from './messaging.ts';
import type { PartOptions } from './part.ts';
import type { Serving } from './serving.ts';

export interface SocketsOptions extends PartOptions {
  readonly tickets: Tickets;
}

/** The sockets of this node, on the port of its HTTP server. */
export function openSockets(
  { config, log, metrics, disposer, tickets }: SocketsOptions,
  { database, engine, store, cursors }: Data,
  { rights, authenticator, rateLimits, directory }: Access,
  { timeline }: Messaging,
  { http, server, origins }: Serving,
): Gateway {
  const gateway = new Gateway({
    database,
    files: store,
    engine,
    timeline,
    cursors,
    rights,
    authenticator,
    rateLimits,
    directory,
    tickets,
    http: server,
    refuse: (exchange, thrown) => http.refuse(exchange, thrown),
    failures: http.failures,
    origins,
    limits: config.socket,
    metrics,
    log,
  });
  disposer.add('gateway', gateway, (it) => it.close());
  const { streams, broadcast } = gateway;
  const repair = new Repair({ database, files: store, engine, streams, cursors, broadcast, metrics, log });
  disposer.add('repair', repair, (it) => it.close());
  return gateway;
}
