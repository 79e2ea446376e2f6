import { createHash } from 'node:crypto';
import { documentRoute } from '../../api/documents/documents.ts';
import type { PublicRoutes } from '../../api/pipeline/public-routes.ts';

/**
 * Returns the routes of the frames in which the console shows the HTML of mail: the page posts it
 * to the frame, which has an origin of its own and may do nothing but show it, open links, and say
 * how high it is. The second loads pictures of all hosts, the first only files of this server and
 * of `filesOrigin`.
 */
export function mailFrameRoutes(filesOrigin = ''): PublicRoutes {
  const files = `'self' data: ${filesOrigin}`.trim();
  return {
    '/console/mail-frame': frameRoute(files),
    '/console/mail-frame/pictures': frameRoute(`${files} https: http:`),
  };
}

function frameRoute(pictures: string) {
  const policy = {
    'default-src': "'none'",
    'script-src': `'sha256-${createHash('sha256').update(SCRIPT).digest('base64')}'`,
    'style-src': "'unsafe-inline'",
    'img-src': pictures,
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'self'",
    sandbox: 'allow-scripts allow-popups allow-popups-to-escape-sandbox',
  };
  const text = Object.entries(policy).map(([name, value]) => `${name} ${value}`);
  return documentRoute(() => ({ contentType: 'text/html; charset=utf-8', body: Buffer.from(FRAME) }), {
    'Content-Security-Policy': text.join('; '),
  });
}

const SCRIPT = `
addEventListener('message', ({ data, source }) => {
  if (source === parent) document.body.innerHTML = data;
});
new ResizeObserver(() => parent.postMessage(document.documentElement.offsetHeight, '*'))
  .observe(document.documentElement);
`;

/** Mail is written for a white page. */
const FRAME = `<!doctype html>
<html lang="">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light">
<title>Mail</title>
<style>
html { background: #fff; color: #000; font: 14px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
img { max-width: 100%; }
</style>
</head>
<body>
<script>${SCRIPT}</script>
</body>
</html>
`;
