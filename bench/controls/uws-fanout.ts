/** Fan-out by uWebSockets.js alone: every socket on one topic, the same bytes every time. */

import { App, us_socket_local_port } from 'uWebSockets.js';
import { listening, publishOnCredit, startMessage } from './delivery-loop.ts';

const frame = Buffer.from((await startMessage()).frame);
const app = App();
const publish = () => app.publish(TOPIC, frame, false);
const TOPIC = 'readers';

app.ws('/', {
  compression: 0,
  idleTimeout: 0,
  maxBackpressure: 1_048_576,
  open: (ws) => {
    ws.subscribe(TOPIC);
  },
});
app.post('/publish', (response) => {
  response.onAborted(() => undefined);
  response.onData((_, isLast) => {
    if (!isLast) return;
    publish();
    response.cork(() => response.writeStatus('201 Created').end('{}'));
  });
});
publishOnCredit(publish);
app.listen('127.0.0.1', 0, (socket) => listening(socket === false ? 0 : us_socket_local_port(socket)));
process.once('disconnect', () => process.exit(0));
