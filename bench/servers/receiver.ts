/** Answers each POST with 204 as soon as its body is there. */

import { App, us_socket_local_port } from 'uWebSockets.js';
import { listening } from '../controls/delivery-loop.ts';

const app = App();
app.post('/*', (response) => {
  response.onAborted(() => undefined);
  response.onData((_, isLast) => {
    if (isLast) response.cork(() => response.writeStatus('204 No Content').endWithoutBody());
  });
});
app.listen('127.0.0.1', 0, (socket) => listening(socket === false ? 0 : us_socket_local_port(socket)));
process.once('disconnect', () => process.exit(0));
