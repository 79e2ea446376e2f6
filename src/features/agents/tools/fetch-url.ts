import type { AttachedTool } from '../../../core/tables/agent-tables.ts';
import type { GuardedFetch } from '../../../platform/outbound/guarded-fetch.ts';
import { OutboundError } from '../../../platform/outbound/outbound-url.ts';
import { TOOL_BYTES } from './built-in-definitions.ts';
import { builtInTool } from './built-in-tool.ts';
import { cutText, decodeText, isHtml, isTextType, keepable, TEXT_BYTES } from './document-text.ts';
import { pageToText } from './page-text.ts';
import { type RunTool, type ToolOutcome, ToolRefusal } from './tool.ts';

/**
 * Returns a page or document of the public web as text:
 * `{url, status, content_type, text, truncated}`, whatever its status. The whole call, including
 * redirects and reading, takes at most `wholeMs`.
 */
export function fetchUrlTool(attached: AttachedTool, web: GuardedFetch, wholeMs = WHOLE_MS): RunTool {
  const { allowed_hosts: hosts, max_bytes: maxBytes = TOOL_BYTES.fetched } = (attached.config ??
    {}) as Config;
  const mayAsk = (host: string) => hosts === undefined || hosts.some((pattern) => isWithin(host, pattern));
  return builtInTool(attached, {
    parameters: PARAMETERS,
    async call({ url }, { signal }) {
      const deadline = AbortSignal.timeout(wholeMs);
      try {
        const options = { maxBytes, mayAsk, wants: isTextType, signal: AbortSignal.any([signal, deadline]) };
        return await fetchText(web, String(url).trim(), options);
      } catch (error) {
        if (error instanceof OutboundError) throw new ToolRefusal(error.condition, error.message, error);
        if (signal.aborted || !deadline.aborted) throw error;
        throw new ToolRefusal('timeout', `It did not come whole within ${wholeMs / 1000} s.`);
      }
    },
  });
}

/** The shape that the tool's config_schema accepts. */
interface Config {
  readonly allowed_hosts?: readonly string[];
  readonly max_bytes?: number;
}

const WHOLE_MS = 15_000;

const PARAMETERS = {
  type: 'object',
  properties: {
    url: { type: 'string', minLength: 1, maxLength: 4096, description: 'Absolute, http or https.' },
  },
  required: ['url'],
  additionalProperties: false,
};

async function fetchText(
  web: GuardedFetch,
  asked: string,
  options: Parameters<GuardedFetch['fetch']>[1],
): Promise<ToolOutcome> {
  const { url, status, contentType, bytes, truncated } = await web.fetch(asked, options);
  const source = decodeText(bytes, contentType);
  const whole = isHtml(contentType) ? keepable(await pageToText(source, url, options.signal)) : source;
  const { text, truncated: isCut } = cutText(whole, TEXT_BYTES);
  return {
    output: { url, status, content_type: keepable(contentType), text, truncated: truncated || isCut },
  };
}

/** Returns whether a host fits a pattern; `*.example.com` matches all names below it. */
function isWithin(host: string, pattern: string): boolean {
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern;
}
