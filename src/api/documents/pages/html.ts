import { escapeHtml } from '../../../platform/plain-text.ts';

/** Text that is HTML already, so `html` does not escape it. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Part = string | number | Html | readonly Html[];

/** Escapes parts: html`<p>${anything}</p>` shows `anything` as text, whatever it contains. */
export function html(literals: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(String.raw({ raw: literals }, ...parts.map(render)));
}

function render(part: Part): string {
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(({ text }) => text).join('\n');
  return escapeHtml(String(part));
}

/** Returns HTML of a text: `inside` converts parts between backticks, `outside` the rest. */
export function prose(text: string, inside: ToHtml = code, outside: ToHtml = (part) => html`${part}`): Html {
  return joined(text.split('`').map((part, i) => (i % 2 === 0 ? outside(part) : inside(part))));
}

export type ToHtml = (text: string) => Html;

/** Puts parts behind each other on one line. */
export function joined(parts: readonly Html[], between = ''): Html {
  return new Html(parts.map(({ text }) => text).join(between));
}

/** Returns a table that scrolls sideways on narrow screens, also by keyboard. */
export function table(heads: readonly string[], rows: readonly (readonly Html[])[]): Html {
  return html`<div class="wide" tabindex="0"><table>
<thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>
${rows.map((cells) => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}
</tbody>
</table></div>`;
}

/** Makes code with a copy button; `language` is a class of it. */
export function command(text: string, language?: string): Html {
  const shown =
    language === undefined ? html`<code>${text}</code>` : html`<code class="${language}">${text}</code>`;
  return html`<div class="command">
<pre tabindex="0">${shown}</pre>
<button type="button" class="copy" hidden>Copy</button>
</div>`;
}

export function code(text: string | number): Html {
  return html`<code>${text}</code>`;
}
