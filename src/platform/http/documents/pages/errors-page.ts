import { codeOf } from '../../../../contract/protocol/error-envelope.ts';
import { ERROR_GUIDE } from '../../../../contract/protocol/error-guide.ts';
import { ERRORS, type ErrorCondition } from '../../../../contract/protocol/errors.ts';
import { CLOSE_CODES, type CloseReason } from '../../../../contract/protocol/socket/close-codes.ts';
import type { Document } from '../documents.ts';
import { refusalExample } from '../openapi/refusals.ts';
import { code, type Html, html, prose, table } from './html.ts';
import { pageOf } from './page.ts';

/** Has an anchor for each code, to which `doc_url` links (docs/contract.md#errors). */
export function errorsPage(docsUrl: string): Document {
  const conditions = Object.keys(ERRORS) as ErrorCondition[];
  return pageOf('errors', {
    main: html`<h1>Errors</h1>
<p>Every refusal is a JSON object with the one key <code>error</code>, over REST and in socket replies alike.
Branch on its <code>code</code>; its <code>message</code> is for people and may change.</p>
<pre tabindex="0"><code>${JSON.stringify(refusalExample('missing_field', docsUrl), null, 2)}</code></pre>
<h2 id="handling">What to do</h2>
<ul>
<li><code>invalid_request_error</code>: the request cannot be done as it was sent. Correct it, the credential, or the
state it met, before sending it again.</li>
<li><code>api_error</code>: send it again only where <code>is_transient</code> is true, with growing, random delays.</li>
<li><code>idempotency_error</code>: send it again only for <code>idempotency_in_progress</code>, with the same key, after
a short delay.</li>
<li>Repeat a change with the same <code>Idempotency-Key</code>, and wait as long as <code>Retry-After</code> says.</li>
</ul>
<h2 id="codes">Codes</h2>
${[...Map.groupBy(conditions, codeOf)].map(([name, sharing]) => section(name, sharing))}
<h2 id="close-codes">Close codes of sockets</h2>
<p>The band tells a client what to do, also with codes that it does not know.</p>
${closeCodes()}`,
  });
}

/** Several conditions may share a code. */
function section(name: string, conditions: readonly ErrorCondition[]): Html {
  return html`<section class="card" id="${name}">
<h3><a href="#${name}"><code>${name}</code></a></h3>
${conditions.map(entry)}
</section>`;
}

function entry(condition: ErrorCondition): Html {
  const { type, status, transient } = ERRORS[condition];
  const { when, remedy } = ERROR_GUIDE[condition];
  return html`<p class="facts"><span>${status}</span> <span>${type}</span>${
    transient ? html` <span class="transient">transient</span>` : ''
  }</p>
<p>${prose(when)} ${prose(remedy)}</p>`;
}

function closeCodes(): Html {
  const rows = Object.entries(CLOSE_CODES).map(([reason, { code: number, next }]) => [
    code(number),
    code(reason),
    html`${CLOSE_TEXTS[reason as CloseReason]}`,
    html`${NEXT_TEXTS[next]}`,
  ]);
  return table(['Code', 'Reason', 'When', 'The client then'], rows);
}

const CLOSE_TEXTS: Readonly<Record<CloseReason, string>> = {
  going_away: 'The node stops.',
  slow_consumer: 'The socket did not read what it was sent.',
  heartbeat_timeout: 'A heartbeat was not answered.',
  rate_limited: 'Too many requests over the socket, or too many sockets.',
  overloaded: 'The node accepts no sockets at the moment.',
  token_expired: 'The token expired and was not refreshed.',
  authentication_timeout: 'No authenticate frame arrived in time.',
  credentials_revoked: 'The key or token was revoked.',
  subject_changed: 'A refresh sent the token of another actor.',
  cursor_invalid: 'The cursor to resume from is broken or too old.',
  protocol_error: 'Frames that are malformed or unknown, or were not expected.',
  version_unsupported: 'The version is not supported.',
  forbidden: 'The caller may not open a socket here.',
};

const NEXT_TEXTS: Readonly<Record<(typeof CLOSE_CODES)[CloseReason]['next'], string>> = {
  reconnect: 'connects again at once, with jitter, and resumes',
  wait: "connects again after the reason's retry_after_ms",
  authenticate: 'gets a credential first',
  start_afresh: 'drops its cursor and loads afresh',
  stop: 'does not come back',
};
