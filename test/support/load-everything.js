/**
 * Loads every module of src/ and packages/ that runs in Node, and every migration, with a stub for
 * the addon, which exists only for the pinned Node. Run by another Node, it shows whether anything
 * else depends on the pinned one.
 */

import { once } from 'node:events';
import { globSync } from 'node:fs';
import module from 'node:module';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';

const ADDON = 'stub:uWebSockets.js';
const NAMES = ['App', 'SSLApp', 'us_listen_socket_close', 'us_socket_local_port'];

module.registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'uWebSockets.js' ? { url: ADDON, shortCircuit: true } : next(specifier, context),
  load: (url, context, next) =>
    url === ADDON ? { format: 'module', source: stub(), shortCircuit: true } : next(url, context),
});

// Modules that run something when they are loaded: the commands, and the workers, which get some
// input.
const COMMANDS = [
  'src/app/main.ts',
  'packages/archives/convert/command.ts',
  'packages/client/add/command.ts',
];
const HTML_WORKER = 'src/features/agents/tools/page-worker.ts';
const MAIL_WORKER = 'packages/mail-reader/thread/reader-worker.ts';
const ARCHIVE_CHILD = 'packages/archives/process/reader-child.ts';

// Declarations, which npm run build makes, and code for browsers.
const OTHERS = [
  'packages/{console,ui,widget}/**',
  'packages/client/react/parts/**',
  'packages/*/{npm,test}/**',
];

const paths = globSync('{src,packages,migrations}/**/*.ts', { exclude: OTHERS }).filter(
  (path) => !COMMANDS.includes(path),
);
const workers = [HTML_WORKER, MAIL_WORKER, ARCHIVE_CHILD];
for (const path of paths.filter((path) => !workers.includes(path))) await import(pathToFileURL(path).href);
const worker = new Worker(pathToFileURL(HTML_WORKER), {
  workerData: { html: '<p>hello</p>', url: 'http://127.0.0.1/' },
});
await once(worker, 'message');
const { Load } = await import('../../src/platform/background.ts');
const { parseMail } = await import('../../src/features/mail/transports/parse-mail.ts');
const source = Buffer.from('Subject: Hello\r\n\r\nA mail.\r\n');
const file = {
  size: source.length,
  async *read() {
    yield source;
  },
};
const mail = await parseMail({ open: async () => file }, 'source', new Load());
if (mail.isDamaged) throw new Error('the thread that reads mail does not run');
process.stdout.write(`loaded ${paths.length} modules\n`);
process.exit();

function stub() {
  const functions = NAMES.map((name) => `export const ${name} = () => undefined;`);
  return [...functions, 'export default { _cfg() {} };'].join('\n');
}
