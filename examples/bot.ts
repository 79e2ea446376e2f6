/**
 * A bot: answers each message of the demo group that begins with "!time", beside `npm start`:
 * `npx node examples/bot.ts [server URL]`. It remembers how far it has read, so it answers what was
 * written while it was away, and everything once.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from '@parley/client';

const demo = JSON.parse(readFileSync('.data/demo.json', 'utf8'));
const { group } = demo.conversations;
const position = process.env.BOT_POSITION ?? '.data/bot-position';

const client = connect({
  url: process.argv[2] ?? demo.base_url,
  account: demo.account_id,
  token: demo.api_key,
});
client.on('error', ({ reason, message, willRetry }) => console.error(reason, message, { willRetry }));
client.on('state', (state) => console.error(state));
let answering = Promise.resolve();
client.subscribe(group, {
  ...(existsSync(position) ? { afterSequence: Number(readFileSync(position, 'utf8')) } : {}),
  // Also before the first message: what is written from here on is answered.
  onBegin: (after) => writeFileSync(position, String(after)),
  onMessage: ({ id, sequence, body }) => {
    answering = answering.then(async () => {
      if (body?.startsWith('!time')) {
        // Sent again after a crash, it is the same message: its id is derived from the question's.
        const answer = { body: `It is ${new Date().toISOString()}.`, client_message_id: `time-${id}` };
        await client.send(group, { ...answer, reply_to_message_id: id });
        console.log('answered', sequence);
      }
      writeFileSync(position, String(sequence));
    });
  },
});
