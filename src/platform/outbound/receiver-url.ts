import { ApiError, invalid } from '../../contract/protocol/errors.ts';
import type { AddressGuard } from './address-guard.ts';
import { OutboundError } from './outbound-error.ts';
import { readOutboundUrl, targetOf } from './outbound-url.ts';

/**
 * Characters. A URL becomes longer where its characters are escaped, and the row of an index has
 * room for this much.
 */
const MAX_URL = 2_000;

/**
 * Returns the URL of a receiver that a caller names in the parameter `param`: https, or http where
 * the operator allows the host, without credentials. Throws ApiError `invalid_format` for what is
 * no URL, otherwise `validation_failed`, also for a literal address that could not be reached
 * anyway. Names may change their addresses: each request checks them again.
 */
export function readReceiverUrl(text: string, param: string, guard: AddressGuard): URL {
  try {
    const url = readOutboundUrl(text);
    const target = targetOf(url);
    guard.requireLiteral(target);
    if (!target.isSecure && !guard.isAllowed(target)) throw invalid(param, 'Must be an https URL.');
    if (url.href.length > MAX_URL) throw invalid(param, `Must be at most ${MAX_URL} characters.`);
    return url;
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    if (error.condition !== 'invalid_format') throw invalid(param, error.message);
    throw new ApiError('invalid_format', error.message, { param });
  }
}
