/**
 * Watches the demo group beside `npm start`, and says "ahoy" in it:
 * `npx node examples/watch.ts [server URL]`. Prints the number and text of each message, in order
 * and once, whatever happens to the connection.
 */

import { readFileSync } from 'node:fs';
import { connect } from '@parley/client';

const demo = JSON.parse(readFileSync('.data/demo.json', 'utf8'));
const { group } = demo.conversations;

const client = connect({
  url: process.argv[2] ?? demo.base_url,
  account: demo.account_id,
  token: demo.api_key,
});
client.on('state', (state) => console.error(state)); // connecting, catching_up, live, offline
client.on('error', ({ reason, message, willRetry }) => console.error(reason, message, { willRetry }));
client.subscribe(group, {
  afterSequence: 0, // The last number that is there already; without it: from now on.
  onMessage: ({ sequence, body }) => console.log(sequence, body),
});
const { id } = await client.send(group, 'ahoy'); // Tried until it is answered, sent once.
console.error('sent', id);
