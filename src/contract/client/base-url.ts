/**
 * Returns the base of every URL of a server, such as `https://chat.example/parley`, without a
 * trailing slash. Accepts what people paste: `ws:` and `wss:`, trailing slashes, the path of the
 * API or of the socket. Throws TypeError for text that cannot be the URL of a server.
 */
export function baseUrlOf(text: unknown): string {
  const url = typeof text === 'string' ? parsed(text) : undefined;
  const scheme = url && SCHEMES[url.protocol];
  const isPlain = url?.search === '' && url.hash === '' && url.username === '' && url.password === '';
  if (url === undefined || scheme === undefined || !isPlain) {
    throw new TypeError(
      `url must be the address of a Parley server, such as https://chat.example, not ${JSON.stringify(text)}.`,
    );
  }
  return `${scheme}//${url.host}${url.pathname.replace(API_PATH, '').replace(/\/+$/, '')}`;
}

const SCHEMES: Readonly<Record<string, 'http:' | 'https:'>> = {
  'http:': 'http:',
  'https:': 'https:',
  'ws:': 'http:',
  'wss:': 'https:',
};

const API_PATH = /\/v1(\/realtime)?\/*$/;

function parsed(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
