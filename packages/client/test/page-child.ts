/**
 * Acts as a page, without a browser: loads the SDK's modules over HTTP and runs them with only the
 * globals that browsers have.
 * `node --experimental-vm-modules page-child.ts <entry URL> <token> <account> <conversation>`
 * prints one JSON line when it is live and one for each message.
 */

import { createContext, type Module, SourceTextModule } from 'node:vm';

const [entry = '', token = '', account = '', conversationId = ''] = process.argv.slice(2);
const print = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);

const page = createContext({
  WebSocket,
  fetch,
  setTimeout,
  clearTimeout,
  queueMicrotask,
  crypto,
  TextEncoder,
  URL,
  AbortController,
  DOMException,
  options: { url: new URL(entry).origin, account, token },
  conversationId,
  print,
});
const modules = new Map<string, Promise<SourceTextModule>>();

const script = new SourceTextModule(
  `import { connect } from '${entry}';
  const client = connect(options);
  client.subscribe(conversationId, {
    onMessage: ({ sequence, body }) => print({ sequence, body }),
  });
  client.on('state', (state) => print({ state }));`,
  { context: page, identifier: new URL('/docs', entry).href },
);
await script.link(imported);
await script.evaluate();
print({ modules: [...modules.keys()] });

function imported(specifier: string, referrer: Module): Promise<SourceTextModule> {
  const url = new URL(specifier, referrer.identifier).href;
  const found = modules.get(url) ?? load(url);
  modules.set(url, found);
  return found;
}

async function load(url: string): Promise<SourceTextModule> {
  const response = await fetch(url);
  if (!response.headers.get('content-type')?.startsWith('text/javascript'))
    throw new Error(`no module: ${url}`);
  return new SourceTextModule(await response.text(), { context: page, identifier: url });
}
