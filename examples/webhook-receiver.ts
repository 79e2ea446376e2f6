/**
 * Receives the events of the demo account's conversations and proves that none is missing:
 * `PARLEY_FETCH_ALLOW=127.0.0.1 npm start`, and beside it
 * `npx node examples/webhook-receiver.ts [server URL]`. Keeps the numbers that it got per
 * conversation, as a table of yours would, and compares them with what the server says it
 * delivered.
 */

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from '@parley/client';
import { Webhook } from 'standardwebhooks';

const demo = JSON.parse(readFileSync('.data/demo.json', 'utf8'));
const client = connect({
  url: process.argv[2] ?? demo.base_url,
  account: demo.account_id,
  token: demo.api_key,
});

let secret = '';
const handled = new Set<string>();
/** By conversation, the numbers of its messages. */
const received = new Map<string, Set<number>>();

const receiver = createServer(async (request, response) => {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece);
  try {
    // The bytes as they came: parsed and written again they have another signature.
    const event = new Webhook(secret).verify(
      Buffer.concat(pieces).toString(),
      request.headers as Record<string, string>,
    ) as { type: string; conversation_id?: string; sequence?: number };
    const id = String(request.headers['webhook-id']);
    if (!handled.has(id) && event.type === 'message.created') {
      const numbers = received.get(event.conversation_id!) ?? new Set();
      received.set(event.conversation_id!, numbers.add(event.sequence!));
    }
    handled.add(id); // At least once: a repeated event has the same id.
    response.writeHead(204).end();
  } catch {
    response.writeHead(400).end();
  }
}).listen(0, '127.0.0.1');
await new Promise((resolve) => receiver.once('listening', resolve));

const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
const webhook = await client.fetch<{ id: string; secret: string }>('/v1/webhooks', {
  method: 'POST',
  body: { url, event_types: ['message.created'] },
});
secret = webhook.secret;

type Completeness = { conversation_id: string; through_sequence: number; head: number };
const count = 20;
for (let n = 1; n <= count; n++) await client.send(demo.conversations.group, `Message ${n} of ${count}`);

for (;;) {
  const path = `/v1/webhooks/${webhook.id}/completeness`;
  const { data } = await client.fetch<{ data: Completeness[] }>(path);
  const proof = data.find(({ conversation_id: id }) => id === demo.conversations.group);
  const numbers = received.get(demo.conversations.group) ?? new Set();
  console.log(`${numbers.size} received, everything delivered through ${proof?.through_sequence ?? '-'}`);
  if (proof !== undefined && proof.through_sequence === proof.head && numbers.size === count) break;
  await new Promise((resolve) => setTimeout(resolve, 200));
}
console.log('Nothing is missing.');
await client.fetch(`/v1/webhooks/${webhook.id}`, { method: 'DELETE' });
client.close();
receiver.close();
