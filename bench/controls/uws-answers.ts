/**
 * Answers each request with the same status and bytes, and each socket with a frame of these bytes,
 * by uWebSockets.js alone.
 */

import { App, us_socket_local_port } from 'uWebSockets.js';
import { type Answers, listening, startMessage } from './delivery-loop.ts';

const { frame, status } = await startMessage<Answers>();
const answer = Buffer.from(frame);
const app = App();

app.any('/*', (response) => {
  response.onAborted(() => undefined);
  response.onData((_, isLast) => {
    if (!isLast) return;
    response.cork(() => {
      response.writeStatus(status).writeHeader('Content-Type', 'application/json').end(answer);
    });
  });
});
app.ws('/*', {
  compression: 0,
  idleTimeout: 0,
  open: (ws) => {
    ws.send(answer, false);
  },
});
app.listen('127.0.0.1', 0, (socket) => listening(socket === false ? 0 : us_socket_local_port(socket)));
process.once('disconnect', () => process.exit(0));
