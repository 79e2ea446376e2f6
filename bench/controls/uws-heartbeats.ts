/**
 * Heartbeats by uWebSockets.js alone: a ring of sockets, whose due ones in a tick get the same
 * frame, sent and answered through JavaScript. Ring and tick are the product's: every socket once
 * in 25 seconds.
 */

import { App, us_socket_local_port, type WebSocket } from 'uWebSockets.js';
import { listening, startMessage } from './delivery-loop.ts';

const HEARTBEAT_MS = 25_000;
const TICK_MS = 250;

interface Client {
  answeredAtMs: number;
}

const ping = Buffer.from((await startMessage()).frame);
const slots: Set<WebSocket<Client>>[] = Array.from({ length: HEARTBEAT_MS / TICK_MS }, () => new Set());
const slotOf = new WeakMap<WebSocket<Client>, Set<WebSocket<Client>>>();
let nextSlot = 0;
const app = App();

app.ws<Client>('/', {
  compression: 0,
  idleTimeout: 0,
  sendPingsAutomatically: false,
  maxBackpressure: 1_048_576,
  upgrade: (res, req, context) => {
    res.upgrade<Client>({ answeredAtMs: 0 }, req.getHeader('sec-websocket-key'), '', '', context);
  },
  open: (ws) => {
    // Sockets are spread evenly over the ring, as random phases are in the mean.
    nextSlot = (nextSlot + 1) % slots.length;
    const slot = slots[nextSlot]!;
    slot.add(ws);
    slotOf.set(ws, slot);
  },
  message: (ws) => {
    ws.getUserData().answeredAtMs = performance.now();
  },
  close: (ws) => void slotOf.get(ws)?.delete(ws),
});

let tick = 0;
setInterval(() => {
  tick = (tick + 1) % slots.length;
  for (const ws of slots[tick]!) ws.send(ping, false);
}, TICK_MS);
app.listen('127.0.0.1', 0, (socket) => listening(socket === false ? 0 : us_socket_local_port(socket)));
process.once('disconnect', () => process.exit(0));
