import type { IncomingMessage, ServerResponse } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';

/** Serves honest and hostile pages. Unknown paths get `the friend`. */
export function answerPages({ url = '' }: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(url, 'http://friend');
  const text = (type: string, body: string | Buffer, headers: Record<string, string> = {}) =>
    response.writeHead(200, { 'Content-Type': type, ...headers }).end(body);
  const moved = (status: number, to: string | null) =>
    response
      .writeHead(status, { 'Content-Type': 'text/plain', ...(to === null ? {} : { Location: to }) })
      .end('nowhere');
  const endless = (everyMs: number) => {
    response.writeHead(200, { 'Content-Type': 'text/plain' });
    const timer = setInterval(() => response.write('x'.repeat(100)), everyMs);
    response.once('close', () => clearInterval(timer));
  };
  const left = Number(searchParams.get('left'));
  const pages: Record<string, () => unknown> = {
    '/to': () => moved(Number(searchParams.get('status')), searchParams.get('to')),
    '/meta': () =>
      text(
        'text/html',
        `<head><meta http-equiv="refresh" content="0;url=${searchParams.get('to')}"></head>Moved`,
      ),
    '/page': () =>
      text(
        'text/html',
        '<title>T</title><script>evil()</script><h1>Tides</h1><p>High at <a href="/noon">noon</a>.',
      ),
    '/table': () =>
      text(
        'text/html',
        `<head><style>td{}</style></head><table><tr><th>Harbor</th><th>High </th><th>Low</th></tr>
         <tr><td>St. Ives</td> <td>12:00</td><td>18:10</td></tr></table><ul hidden><li>no</ul>
         <noscript>no</noscript><ul><li>one<li>two</ul><img alt=no src=x><!-- no -->`,
      ),
    '/json': () => text('application/json; charset=utf-8', '{"tide":"höchst"}'),
    '/xml': () => text('application/xml', '<tide>high</tide>'),
    '/csv': () => text('TEXT/CSV', 'a,b'),
    '/latin1': () => text('text/plain; charset="ISO-8859-1"', Buffer.from('Möwe', 'latin1')),
    '/latin1-html': () => text('text/html', Buffer.from('<meta charset=latin1>Möwe', 'latin1')),
    '/gzip': () => text('text/plain', gzipSync('packed'), { 'Content-Encoding': 'gzip' }),
    '/deflate': () => text('text/plain', deflateSync('packed'), { 'Content-Encoding': 'deflate' }),
    '/br': () => text('text/plain', brotliCompressSync('packed'), { 'Content-Encoding': 'BR' }),
    '/missing': () => response.writeHead(404, { 'Content-Type': 'text/plain' }).end('nothing here'),
    '/empty': () => response.writeHead(204).end(),
    '/nul': () => text('text/plain', 'a\0b'),
    '/hops': () => (left === 0 ? text('text/plain', 'arrived') : moved(302, `/hops?left=${left - 1}`)),
    '/image': () => text('image/png', 'x'),
    '/no-type': () => response.end('x'),
    '/zstd': () => text('text/plain', 'x', { 'Content-Encoding': 'zstd' }),
    '/not-gzip': () => text('text/plain', 'x'.repeat(100), { 'Content-Encoding': 'gzip' }),
    '/cut': () => {
      response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': '100' }).write('x');
      setImmediate(() => response.destroy());
    },
    '/no-http': () => response.socket?.end('SSH-2.0-OpenSSH_9.2p1\r\n'),
    '/endless': () => endless(1),
    '/bomb': () =>
      text('text/plain', gzipSync(Buffer.alloc(16_000_000, 'x')), { 'Content-Encoding': 'gzip' }),
    '/never': () => {},
    '/drip': () => endless(50),
    '/hopping': () => setTimeout(() => moved(302, '/hopping'), 150),
    '/knot': () => text('text/html', '<b>'.repeat(160_000) + '</i>'.repeat(120_000)),
  };
  (pages[pathname] ?? (() => text('text/plain', 'the friend')))();
}
