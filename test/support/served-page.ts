import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type OutputChunk, rolldown } from 'rolldown';
import type { Teardown } from './teardown.ts';

export interface PageOptions {
  /** The source of the module; by default that of the file. */
  readonly code?: string;
  /** The port of the page; any port by default. */
  readonly port?: number;
  /** The content of the document's body. */
  readonly body?: string;
  /** The build of React: the one for development has StrictMode, and warnings. */
  readonly mode?: 'production' | 'development';
}

/**
 * Bundles the module of a page and serves it in a separate document. Returns the document's URL.
 */
export async function servePage(
  t: Teardown,
  module: string,
  { code, port = 0, body = '<main></main>', mode = 'production' }: PageOptions = {},
): Promise<string> {
  const chunks = await bundled(module, code, mode);
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><body>${body}<script type="module" src="/${chunks[0]!.fileName}"></script>`;
  const answer: RequestListener = ({ url = '/' }, response) => {
    const chunk = chunks.find(({ fileName }) => url === `/${fileName}`);
    response.setHeader('content-type', chunk === undefined ? 'text/html' : 'text/javascript');
    // A page that is loaded again need not get and compile it again.
    if (chunk !== undefined) response.setHeader('cache-control', 'max-age=3600');
    response.end(chunk?.code ?? html);
  };
  return serveSite(t, answer, port);
}

/** Serves pages of another site than the app's. Returns their origin. */
export async function serveSite(t: Teardown, answer: RequestListener, port = 0): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Returns the chunks, the entry first. */
async function bundled(input: string, code: string | undefined, mode: string): Promise<OutputChunk[]> {
  const build = await rolldown({
    input,
    platform: 'browser',
    logLevel: 'silent',
    plugins: [
      {
        name: 'the given source',
        resolveId: (id) => (code !== undefined && id === input ? id : undefined),
        load: (id) => (id === input ? code : undefined),
      },
    ],
    transform: { define: { 'process.env.NODE_ENV': JSON.stringify(mode) } },
  });
  const { output } = await build.generate({ format: 'es', minify: true });
  await build.close();
  const chunks = output.filter((one) => one.type === 'chunk');
  return chunks.toSorted((a, b) => Number(b.isEntry) - Number(a.isEntry));
}
