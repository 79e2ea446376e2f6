/**
 * Answers every request at once, and sends its port to its parent. For the test of the generator,
 * which stops it.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const server = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { 'Content-Length': 2 }).end('{}');
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.once('disconnect', () => process.exit(0));
