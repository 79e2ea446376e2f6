/** A page of any origin, which origins.test.ts opens in a browser: `tries` is called from there. */

import { connect, type Transport } from '@parley/client';

interface Server {
  readonly url: string;
  readonly account: string;
  readonly token: string;
  readonly conversation: string;
}

/** What happened: the reason of the error, or the message that was sent and read. */
interface Found {
  readonly state: string;
  readonly reason: string | null;
  readonly message: string;
  readonly rest: string;
}

/** Connects by one transport until it is live or ended, and makes one request. */
async function tries(server: Server, transport: Transport): Promise<Found> {
  const { url, account, token, conversation } = server;
  const client = connect({ url, account, token, transports: [transport], mostWaitMs: 200 });
  const over = new Promise<void>((resolve) => {
    client.on('end', () => resolve());
    client.on('state', (state) => {
      if (state === 'live') resolve();
    });
  });
  await over;
  const rest = await client.send(conversation, `over ${transport}`).then(
    ({ body }) => body ?? '',
    ({ code }: { readonly code: string }) => code,
  );
  const { state, error } = client.connection.snapshot;
  client.close();
  return { state, reason: error?.reason ?? null, message: error?.message ?? '', rest };
}

Object.assign(globalThis, { tries });
