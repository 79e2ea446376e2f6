/**
 * Catching up without any look-up: twenty frames from memory for each request, with uWebSockets.js
 * alone.
 */

import { App, us_socket_local_port } from 'uWebSockets.js';
import { listening, startMessage } from './delivery-loop.ts';

const frame = Buffer.from((await startMessage()).frame);
const app = App();

app.ws('/v1/realtime', {
  compression: 0,
  idleTimeout: 0,
  maxBackpressure: 1_048_576,
  open: (ws) => {
    ws.send('{"type":"ready"}', false);
  },
  message: (ws) => {
    for (let n = 0; n < MISSED; n++) ws.send(frame, false);
    ws.send('{"type":"caught_up"}', false);
  },
});
const MISSED = 20;
app.listen('127.0.0.1', 0, (socket) => listening(socket === false ? 0 : us_socket_local_port(socket)));
process.once('disconnect', () => process.exit(0));
