/** Answers of the Fetch standard become answers of the server, at the pace of the client. */

import t from 'tap';
import { OpenAnswer, type OpenBody } from '../../src/platform/http/open-body.ts';
import { answerOf } from '../../src/platform/http/web-response.ts';
import { until } from '../support/until.ts';

t.test('a body that is complete is sent as a whole, without the headers of its framing', async (t) => {
  const headers = { 'Content-Length': '2', 'Content-Type': 'application/json', 'X-Kept': 'yes' };
  t.strictSame(await answerOf(new Response('{}', { status: 400, headers })), {
    status: 400,
    headers: { 'x-kept': 'yes' },
    body: Buffer.from('{}'),
    contentType: 'application/json',
  });
  t.strictSame(await answerOf(new Response(null, { status: 202 })), { status: 202, headers: {}, body: null });
});

t.test('the next events are read when there is room for them', async (t) => {
  const events = openEvents();
  const body = (await answerOf(events.response)).body as OpenBody;
  const client = new Client();
  body.begin(client.answer);
  events.push('one');
  await until(() => client.written.length === 1, { what: 'the first event' });
  client.hasRoom = false;
  for (const name of ['two', 'three', 'four', 'five']) events.push(name);
  await until(() => client.written.length === 2, { what: 'the event that is not taken' });
  const read = events.pulled;
  await new Promise(setImmediate);
  t.strictSame([client.written.length, events.pulled], [2, read], 'nothing is read meanwhile');
  client.drain();
  events.controller.close();
  await until(() => client.ended, { what: 'the end' });
  t.strictSame(client.written, ['one', 'two', 'three', 'four', 'five']);
});

t.test('a stream ends with its client, also one that waits for room', async (t) => {
  for (const waits of [false, true]) {
    const events = openEvents();
    const body = (await answerOf(events.response)).body as OpenBody;
    const client = new Client();
    client.hasRoom = !waits;
    body.begin(client.answer);
    events.push('one');
    await until(() => client.written.length === 1, { what: 'the first event' });
    body.gone();
    await until(() => events.isCancelled, { what: 'the end of the stream' });
    t.notOk(client.ended || client.aborted);
  }
});

t.test('a stream that fails cuts the connection', async (t) => {
  const events = openEvents();
  const client = new Client();
  ((await answerOf(events.response)).body as OpenBody).begin(client.answer);
  events.controller.error(new Error('broken'));
  await until(() => client.aborted, { what: 'the cut' });
  t.notOk(client.ended);
});

function openEvents() {
  const events = {
    controller: undefined as unknown as ReadableStreamDefaultController<Uint8Array>,
    pulled: 0,
    isCancelled: false,
    push(name: string) {
      events.controller.enqueue(Buffer.from(name));
    },
    response: undefined as unknown as Response,
  };
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      events.controller = controller;
    },
    pull() {
      events.pulled += 1;
    },
    cancel() {
      events.isCancelled = true;
    },
  });
  events.response = new Response(stream, { headers: { 'Content-Type': 'text/event-stream' } });
  return events;
}

/** A client that takes what it is sent, or does not. */
class Client {
  readonly written: string[] = [];
  readonly answer: OpenAnswer;
  hasRoom = true;
  ended = false;
  aborted = false;
  #resume: (offset: number) => boolean = () => true;

  constructor() {
    const sink = {
      write: (piece: Buffer) => {
        if (piece.toString() !== FILLER) this.written.push(piece.toString());
        return this.hasRoom;
      },
      onWritable: (resume: (offset: number) => boolean) => {
        this.#resume = resume;
      },
      cork: (write: () => void) => write(),
    };
    const listener = {
      end: () => {
        this.ended = true;
      },
      abort: () => {
        this.aborted = true;
      },
    };
    this.answer = new OpenAnswer(sink, listener, Buffer.from(FILLER));
  }

  drain(): void {
    this.hasRoom = true;
    this.#resume(0);
  }
}

const FILLER = ':\n\n';
