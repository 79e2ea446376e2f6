import { readBuilt } from '../client-package.ts';
import type { Document } from '../documents.ts';
import { code, type Html, html, joined } from './html.ts';
import { pageOf } from './page.ts';
import { contentsGroup, referenceColumns } from './reference-columns.ts';
import { CommentTexts } from './sdk-comments.ts';
import type { SdkArea, SdkMember, SdkName, SdkReference, Signature } from './sdk-reference.ts';

/**
 * Returns `/docs/sdk`: every public name of the SDK, as the build of its package read them.
 * `resources` are the resources of the API reference. Rejects with ApiError `resource_not_found` if
 * there was no build.
 */
export async function sdkPage(resources: ReadonlySet<string>): Promise<Document> {
  const built: SdkReference = JSON.parse((await readBuilt('reference.json')).toString());
  const areas = built.areas.map((area) => ({
    ...area,
    names: area.names.map((name) =>
      resources.has(name.resource ?? '') ? name : { ...name, resource: null },
    ),
  }));
  const texts = new CommentTexts(areas.flatMap((area) => area.names));
  return pageOf('sdk', {
    styles: ['reference.css'],
    scripts: ['reference.js'],
    main: html`<h1>SDK reference</h1>
${referenceColumns({
  names: 'Names',
  find: 'Find a name',
  example: 'markRead',
  contents: areas.map(({ title, names }) => contentsGroup(anchorOf(title), title, names)),
  text: html`<p>Every public name of <code>@parley/client</code>, from the doc comments that editors show too. The
<a href="/docs/guides/sdk">guide</a> says how to install it and leads through it; everything else of the
<a href="/docs/guides">guides</a> uses it.</p>
${areas.map((area) => chapter(area, texts))}`,
})}`,
  });
}

/** Returns the page for the same address without a build. */
export function unbuiltSdkPage(why: string): Document {
  return pageOf('sdk', {
    main: html`<h1>SDK reference</h1>
<p>${why}</p>
<p>The <a href="/docs/guides/sdk">guide to the SDK</a> is here in any case.</p>`,
  });
}

function chapter({ title, about, names }: SdkArea, texts: CommentTexts): Html {
  const anchor = anchorOf(title);
  return html`<section class="chapter" aria-labelledby="${anchor}">
<h2 id="${anchor}">${title}</h2>
<p>${about}</p>
${names.map((name) => section(name, texts))}
</section>`;
}

/** Returns one name, collapsed until a reader opens it. */
function section(
  { anchor, name, kind, entries, resource, doc, ...shown }: SdkName,
  texts: CommentTexts,
): Html {
  const from = entries.filter((entry) => entry.includes('/'));
  return html`<details class="operation" id="${anchor}">
<summary><h3><span class="kind">${kind}</span> <code>${name}</code></h3> <span class="title">${texts.sentence(doc)}</span></summary>
<div class="content">
${shown.signatures.filter(saysMore).map(spelled)}
${from.length === 0 ? '' : html`<p class="facts">From ${from.map((entry) => code(entry))}</p>`}
${texts.paragraphs(doc, anchor)}
${resource === null ? '' : html`<p>Limits and formats of its fields: <a href="/docs#schema-${resource}">${resource}</a>.</p>`}
${
  shown.members.length === 0
    ? ''
    : html`<dl class="fields">
${shown.members.map((member) => entry(member, anchor, texts))}
</dl>`
}
</div>
</details>`;
}

/** Returns whether a signature says more than its opening line, which has kind and name. */
function saysMore(signature: Signature): boolean {
  return signature.length > 1 || !/^(class|interface|type) \S+$/.test(String(signature[0]));
}

function entry({ anchor, name, from, doc, signatures }: SdkMember, owner: string, texts: CommentTexts): Html {
  const origin = from === null ? '' : html` <span class="mark">of <a href="#${from}">${from}</a></span>`;
  return html`<div id="${anchor}">
<dt><a href="#${anchor}"><code>${name}</code></a>${origin}</dt>
<dd>${signatures.map(spelled)}
${texts.paragraphs(doc, owner)}</dd>
</div>`;
}

function spelled(signature: Signature): Html {
  const pieces = signature.map((piece) =>
    typeof piece === 'string' ? html`${piece}` : html`<a href="${piece[1]}">${piece[0]}</a>`,
  );
  return html`<code class="signature">${joined(pieces)}</code>`;
}

function anchorOf(title: string): string {
  return `area-${title.toLowerCase().replaceAll(' ', '-')}`;
}
