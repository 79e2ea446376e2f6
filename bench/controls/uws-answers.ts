/**
 * Answers each POST with 201 and the same bytes, by uWebSockets.js alone: the loop of a server that
 * does no more.
 */

import { App, us_socket_local_port } from 'uWebSockets.js';
import { listening, startMessage } from './delivery-loop.ts';

const answer = Buffer.from((await startMessage()).frame);
const app = App();

app.post('/*', (response) => {
  response.onAborted(() => undefined);
  response.onData((_, isLast) => {
    if (!isLast) return;
    response.cork(() => {
      response.writeStatus('201 Created').writeHeader('Content-Type', 'application/json').end(answer);
    });
  });
});
app.listen('127.0.0.1', 0, (socket) => listening(socket === false ? 0 : us_socket_local_port(socket)));
process.once('disconnect', () => process.exit(0));
