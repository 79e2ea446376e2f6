import { WebSocket } from 'ws';
import type { Product } from './product.ts';
import type { Session } from './work.ts';

/**
 * Subscribes to a conversation; live when it resolves. Calls `onMessage` with the client's id of
 * each message of the loops `p9-…`, before any other work.
 */
export function listen(
  { disposer }: Session,
  { port, headers }: Product,
  conversation: string,
  onMessage: (clientMessageId: string) => void,
): Promise<void> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/realtime`, { headers });
  disposer.add('socket', socket, (it) => it.terminate());
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('message', (bytes: Buffer) => {
      const text = bytes.toString();
      const id = /"body":"[^"]*(p9-\d+)"/.exec(text)?.[1];
      if (id !== undefined) return onMessage(id);
      if (text.startsWith('{"type":"ready"')) {
        socket.send(JSON.stringify({ type: 'subscribe', id: '1', conversation_id: conversation }));
      } else if (text.startsWith('{"type":"ping"')) socket.send('{"type":"pong","t":0}');
      else if (text.startsWith('{"type":"caught_up"')) resolve();
    });
  });
}
