import { ApiError, invalid, repeated } from '@parley/protocol/errors/errors.ts';

/**
 * Returns sites as browsers write origins. Throws ApiError at an invalid, forbidden or duplicate
 * site.
 */
export function readSites(sites: readonly string[]): string[] {
  const origins: string[] = [];
  for (const [index, site] of sites.entries()) {
    const origin = readSite(site, `sites[${index}]`);
    if (origins.includes(origin)) throw repeated(`sites[${index}]`);
    origins.push(origin);
  }
  return origins;
}

function readSite(site: string, param: string): string {
  const url = URL.parse(site);
  if (url === null) {
    throw new ApiError('invalid_format', 'Must be an origin such as https://shop.example.', { param });
  }
  const isExact = url.pathname === '/' && url.username === '' && url.password === '' && !/[?#]/.test(site);
  if (!isExact || !HOST.test(url.hostname)) {
    throw invalid(param, 'Must be an origin alone, without a path or a wildcard: https://shop.example.');
  }
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && LOOPBACK.test(url.hostname))) {
    throw invalid(param, 'Must begin with https://. http:// is accepted for the loopback interface alone.');
  }
  return url.origin;
}

/** Characters that mean only a host in Content-Security-Policy. */
const HOST = /^(?:[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])$/;
const LOOPBACK = /^(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/;
