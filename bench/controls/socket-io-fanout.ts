/** Fan-out by Socket.IO over its WebSocket transport: one emit to all sockets, encoded once. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from 'socket.io';
import { listening, publishOnCredit, startMessage } from './delivery-loop.ts';

const event: object = JSON.parse((await startMessage()).frame);
const publish = () => io.emit('event', event);
const server = createServer();
const io = new Server(server, { transports: ['websocket'], serveClient: false });
publishOnCredit(publish);
server.listen(0, '127.0.0.1', 1_024, () => listening((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit(0));
