import { ApiError } from '../errors/errors.ts';
import { isExactNumber } from './exact-json.ts';

/**
 * Returns JSON with the fields of every object in the order of their names and without white space
 * (RFC 8785). Throws ApiError `invalid_format` for a value that is nested too deeply.
 */
export function canonicalJson(value: unknown, depth = 0): string {
  if (depth > MAX_DEPTH) {
    throw new ApiError('invalid_format', `The body is nested more than ${MAX_DEPTH} levels deep.`);
  }
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, depth + 1)).join(',')}]`;
  if (typeof value === 'object' && value !== null && !isExactNumber(value)) {
    const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field, depth + 1)}`).join(',')}}`;
  }
  return JSON.stringify(value);
}

const MAX_DEPTH = 500;

/** Returns a time as on the wire: RFC 3339 in UTC with six decimals, as Postgres has them. */
export function wireTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
