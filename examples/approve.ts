/**
 * Asks the demo account's agent for something that needs approval, shows exactly what it wants to
 * do, and approves it: `npx node examples/approve.ts [server URL]`, beside `npm start`.
 */

import { readFileSync } from 'node:fs';
import { connect } from '@parley/client';

const demo = JSON.parse(readFileSync('.data/demo.json', 'utf8'));
const client = connect({
  url: process.argv[2] ?? demo.base_url,
  account: demo.account_id,
  token: demo.users.ada.access_token, // A person: approvals are decided by people.
});

const started = new Promise<string>((resolve) => {
  client.on('agent_run.updated', ({ id }) => resolve(id));
});
await client.send(demo.conversations.group, '@assistant Create a summary.');
const run = client.run(await started);
run.on('change', async ({ what }) => {
  const { run: details, waiting, text } = run.snapshot;
  if (what === 'text') process.stdout.write(`\r${text}`);
  if (what === 'waiting') {
    for (const { id, tool, arguments: given } of waiting) {
      console.log(`${tool} wants to run with`, given);
      await run.approve(id, 'Approved by the example.');
    }
  }
  if (what === 'run' && (details?.status === 'completed' || details?.status === 'failed')) {
    console.log(`\n${details.status}`);
    client.close();
  }
});
