/**
 * The scenarios of the protocol's own conformance suite against a running server. Most of them call
 * tools, prompts and resources of a fixture, which no real server has: conformance-failures.yaml
 * has each with its reason, and one that passes although it is there fails this test too.
 *
 * Without influence: PAGES.
 */

import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { freshDirectory, runProgram } from '../start/parley.ts';
import { startTestApp } from '../support/app.ts';

/** Adds the credential, as the suite has no way to send one. */
const door = createServer((incoming, response) => {
  const { hostname, port } = new URL(app.baseUrl);
  const { method, url: path, headers } = incoming;
  const asked = {
    hostname,
    port,
    method,
    path,
    headers: { ...headers, authorization: `Bearer ${app.demo.api_key}` },
  };
  const passed = request(asked, (answer) => {
    response.writeHead(answer.statusCode!, answer.headers);
    answer.pipe(response);
  });
  passed.on('error', () => response.destroy());
  incoming.pipe(passed);
});
await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
const origin = `http://127.0.0.1:${(door.address() as AddressInfo).port}`;
const app = await startTestApp(t, { PARLEY_ALLOWED_ORIGINS: origin });
t.teardown(() => {
  door.closeAllConnections();
  door.close();
});

t.test('every scenario passes, or fails for the reason that is written down', async (t) => {
  const expected = join(import.meta.dirname, '../mcp/conformance-failures.yaml');
  const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'));
  const args = [
    program,
    'server',
    '--url',
    `${origin}/mcp`,
    '--suite',
    'all',
    '--expected-failures',
    expected,
  ];
  const { code, stdout } = await runProgram(process.execPath, args, {}, freshDirectory(t));
  t.equal(code, 0, stdout.slice(stdout.indexOf('=== SUMMARY')));
});
