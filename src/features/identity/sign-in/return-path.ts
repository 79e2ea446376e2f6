/** The default destination after a sign-in. */
const DEFAULT_RETURN = '/docs';

/** Returns the path and query of a page of this server, or undefined for any other address. */
export function returnPath(text: string | null): string | undefined {
  if (text === null || text === '') return DEFAULT_RETURN;
  if (text.length > MAX_PATH || !text.startsWith('/')) return undefined;
  // The URL standard reads //host and /\host as other hosts.
  const url = URL.parse(text, BASE);
  if (url === null || url.origin !== BASE) return undefined;
  return url.pathname.startsWith('//') ? undefined : url.pathname + url.search + url.hash;
}

const MAX_PATH = 500;
const BASE = 'http://parley.invalid';
