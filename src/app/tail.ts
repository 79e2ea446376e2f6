/**
 * `npm run -s tail -- <conversation>`: prints the messages of a demo conversation as they arrive,
 * one line each, through the SDK.
 */

import { connect, type Message } from '@parley/client';
import { type DemoFile, demoFilePath, readDemoFile } from './demo.ts';

/** Number of earlier messages to print. */
const BACKLOG = 10;
const MAX_WAIT_MS = 5_000;

/**
 * Prints the last few messages and then each new one as `sequence sender: body`, until the process
 * is stopped. A text that an agent is still writing is announced, and printed when complete.
 * Reconnects by itself, even to a restarted gateway. Rejects with an Error of one line if there is
 * no demo account or no such conversation. `print` receives whole lines without line ends.
 */
export async function tail(
  conversationId: string,
  dataDir: string,
  print: (line: string) => void,
): Promise<never> {
  // Reread for each connection, because a restarted gateway may have another port.
  const demo = (): DemoFile => {
    const found = readDemoFile(demoFilePath(dataDir));
    if (found !== undefined) return found;
    throw new Error(`there is no ${demoFilePath(dataDir)}: start Parley with its demo account ("npm start")`);
  };
  const { account_id: account, service_version: version } = demo();
  const client = connect({
    url: () => demo().base_url,
    getToken: () => demo().api_key,
    account,
    version,
    mostWaitMs: MAX_WAIT_MS,
  });
  return new Promise((_, reject) => {
    const give = (reason: string) => {
      silence();
      client.close();
      reject(new Error(reason));
    };
    const silence = client.on('state', (state) => {
      if (state === 'live') print(`-- listening to ${conversationId}`);
      if (state === 'offline') print('-- not connected; trying again');
    });
    client.on('end', ({ code, reason }) => give(`connection ended (${code} ${reason})`));
    const beingWritten = new Set<string>();
    client.subscribe(conversationId, {
      backlog: BACKLOG,
      onMessage: (message) => {
        if (message.streaming_state === 'streaming') {
          beingWritten.add(message.id);
          print(`${message.sequence} ${senderOf(message)} is writing`);
        } else print(lineOf(message));
      },
      onUpdate: (message) => {
        if (message.streaming_state === 'streaming' || !beingWritten.delete(message.id)) return;
        print(lineOf(message));
      },
      onEnd: (why) => give(why === 'revoked' ? 'the conversation may not be read any more' : why.message),
    });
  });
}

function lineOf(message: Message): string {
  return `${message.sequence} ${senderOf(message)}: ${printable(message.body ?? '')}`;
}

function senderOf({ sender }: Message): string {
  return printable(sender?.name ?? 'system');
}

/** Returns the text as one line, without control characters for the terminal. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
}
