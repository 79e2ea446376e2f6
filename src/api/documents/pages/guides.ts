import { readFile } from 'node:fs/promises';
import { ATTACHABLE_HOURS, FILE_URL_S, UPLOAD_LIMITS } from '@parley/protocol/resources/upload.ts';
import { CURRENT_VERSION, NEWEST_VERSION, type Version } from '@parley/protocol/versions.ts';
import type { Document } from '../documents.ts';
import { type Html, html } from './html.ts';
import { renderMarkdown, type Values } from './markdown.ts';
import { pageOf } from './page.ts';

/**
 * A Markdown file whose heading is the title; the quote below it is the sentence for the list of
 * guides. Its `js` blocks are one module, its `sh` blocks one script, and test/http/guides.test.ts
 * runs them against a server.
 */
export interface Guide {
  /** The end of its path. */
  readonly name: string;
  readonly file: URL;
}

export function pathOf({ name }: Guide): string {
  return `/docs/guides/${name}`;
}

/** Returns `/docs/guides`: the list of guides. */
export async function guidesPage(guides: readonly Guide[]): Promise<Document> {
  const listed = await Promise.all(
    guides.map(async (guide) => ({ path: pathOf(guide), ...(await readGuide(guide)) })),
  );
  return pageOf('guides', {
    main: html`<h1>Guides</h1>
<p>From the first request to a whole client. The examples run: a test executes each of them against a server.</p>
<ol class="guide-list">
${listed.map(({ path, title, summary }) => html`<li><a href="${path}">${title}</a><br>${summary}</li>`)}
</ol>
<p>The <a href="/docs">API reference</a> has every endpoint, the <a href="/docs/sdk">SDK reference</a> every name of the SDK, <a href="/docs/socket">Socket</a> every frame.</p>`,
  });
}

/** Returns a guide's page, with links to its neighbours in the list. */
export async function pageOfGuide(guide: Guide, guides: readonly Guide[]): Promise<Document> {
  const index = guides.indexOf(guide);
  const { title, text } = await readGuide(guide);
  return pageOf('guides', {
    title,
    scripts: ['copy.js'],
    main: html`<h1>${title}</h1>
${await renderMarkdown(text, VALUES)}
<nav class="neighbours" aria-label="Guides">
${await neighbour('prev', guides[index - 1])}
${await neighbour('next', guides[index + 1])}
</nav>`,
  });
}

async function neighbour(rel: 'prev' | 'next', guide: Guide | undefined): Promise<Html> {
  if (guide === undefined) return html`<a href="/docs/guides">All guides</a>`;
  return html`<a rel="${rel}" href="${pathOf(guide)}">${(await readGuide(guide)).title}</a>`;
}

interface GuideText {
  readonly title: string;
  readonly summary: string;
  /** Markdown. */
  readonly text: string;
}

async function readGuide({ name, file }: Guide): Promise<GuideText> {
  const written = await readFile(file, 'utf8');
  const [, title, summary, text] = /^# (.+)\n\n((?:> .+\n)+)\n([\s\S]+)$/.exec(written) ?? [];
  if (title === undefined || summary === undefined || text === undefined) {
    throw new Error(`the guide ${name} needs a title and a summary`);
  }
  return { title, summary: summary.replaceAll('> ', '').trim().replaceAll('\n', ' '), text };
}

const MIB = 1024 * 1024;
const VALUES: Values = {
  version: CURRENT_VERSION,
  s3_mib: UPLOAD_LIMITS.s3Bytes / MIB,
  local_mib: UPLOAD_LIMITS.localBytes / MIB,
  url_minutes: FILE_URL_S / 60,
  attachable_hours: ATTACHABLE_HOURS,
  // A backend's function to call REST; the `js` of a page has it once.
  call: callAt(CURRENT_VERSION),
  call_preview: callAt(NEWEST_VERSION),
};

function callAt(version: Version): string {
  return `const call = async (method, path, body) => {
  const answer = await fetch(\`https://chat.example.com\${path}\`, {
    method,
    headers: {
      Authorization: 'Bearer parley_…', // from your secrets
      'Service-Version': '${version}',
      'Service-Account': 'acc_…',
      'Content-Type': 'application/json',
    },
    body: body && JSON.stringify(body),
  });
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.error.message);
  return value;
};`;
}
