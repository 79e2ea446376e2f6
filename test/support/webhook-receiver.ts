import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Teardown } from './teardown.ts';

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The body as it was sent. */
  readonly text: string;
  readonly event: ReceivedEvent;
}

/** The payload of a webhook. */
interface ReceivedEvent {
  readonly type: string;
  readonly timestamp: string;
  readonly conversation_id?: string;
  readonly sequence?: number;
  readonly head?: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The answer of a receiver: a status, or an act on the response; nothing: it never answers. */
export type Answering = (
  received: Received,
) => number | ((response: ServerResponse) => void) | undefined | Promise<number>;

/** A server that receives webhooks. It answers 200 unless told otherwise. */
export class WebhookReceiver {
  readonly received: Received[] = [];
  answer: Answering = () => 200;
  url = '';
  /** Maximum number of concurrent requests. */
  mostAtOnce = 0;
  #underWay = 0;

  static async start(t: Teardown): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    const server = createServer((request, response) => {
      const { url: path = '', headers } = request;
      receiver.#underWay += 1;
      receiver.mostAtOnce = Math.max(receiver.mostAtOnce, receiver.#underWay);
      response.on('close', () => {
        receiver.#underWay -= 1;
      });
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', async () => {
        const text = Buffer.concat(pieces).toString();
        const received = { path, headers, text, event: JSON.parse(text) as ReceivedEvent };
        receiver.received.push(received);
        const answer = await receiver.answer(received);
        if (typeof answer === 'number') response.writeHead(answer).end();
        else answer?.(response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    return receiver;
  }
}
