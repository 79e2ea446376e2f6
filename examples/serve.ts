/**
 * Serves the pages of this folder at http://localhost:3000, beside `npm start`:
 * `npx node examples/serve.ts [server URL]`, where PORT is another port. The server must allow the
 * pages: `PARLEY_ALLOWED_ORIGINS=http://localhost:3000 npm start`.
 */

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const demo = JSON.parse(readFileSync('.data/demo.json', 'utf8'));
const PARTS = '@parley/client/react/parts.css';
const read = (name: string) => readFileSync(join(import.meta.dirname, name));

const build = await rolldown({
  input: join(import.meta.dirname, 'react-chat/chat.tsx'),
  platform: 'browser',
  tsconfig: false,
  checks: { moduleLevelDirective: false },
  transform: { define: { 'process.env.NODE_ENV': '"production"' } },
});
const { output } = await build.generate({ format: 'es', minify: true });
await build.close();

const files = new Map<string, readonly [type: string, content: string | Buffer]>([
  ['/', ['text/html', read('react-chat/index.html')]],
  ['/parts.css', ['text/css', readFileSync(fileURLToPath(import.meta.resolve(PARTS)))]],
  ['/chat.css', ['text/css', read('react-chat/chat.css')]],
  ['/plain.html', ['text/html', read('plain.html')]],
  ...output.flatMap((file) =>
    file.type === 'chunk' ? [[`/${file.fileName}`, ['text/javascript', file.code]] as const] : [],
  ),
]);

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  // In your product the backend knows who is signed in, and fetches a token for that person.
  const user = demo.users[searchParams.get('as') ?? 'ada'] ?? demo.users.ada;
  const session = {
    url: process.argv[2] ?? demo.base_url,
    account: demo.account_id,
    token: user.access_token,
    conversation: demo.conversations.group,
  };
  const [type, content] =
    pathname === '/session.json'
      ? ['application/json', JSON.stringify(session)]
      : (files.get(pathname) ?? ['text/plain', undefined]);
  response.writeHead(content === undefined ? 404 : 200, { 'content-type': `${type}; charset=utf-8` });
  response.end(content);
});
server.listen(Number(process.env.PORT ?? 3000), 'localhost', () => {
  const { port } = server.address() as AddressInfo;
  console.log(`http://localhost:${port} and http://localhost:${port}/plain.html`);
});
