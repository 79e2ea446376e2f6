/** Fan-out by the `ws` package: a loop over its clients, as in its README. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { listening, publishOnCredit, startMessage } from './delivery-loop.ts';

const frame = Buffer.from((await startMessage()).frame);
const publish = () => {
  for (const client of sockets.clients) {
    if (client.readyState === WebSocket.OPEN) client.send(frame, { binary: false });
  }
};
const server = createServer();
const sockets = new WebSocketServer({ server });
publishOnCredit(publish);
server.listen(0, '127.0.0.1', 1_024, () => listening((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit(0));
